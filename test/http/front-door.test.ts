import { once } from "node:events"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { request as httpRequest } from "node:http"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeIdentity } from "../support/identity.ts"
import { type Answer, type Call, call, encode, errorOf, resultOf } from "../support/mcp.ts"
import { type Running, startWorker } from "../support/workerd.ts"

const APP = "https://app.test"

let storage: string
let worker: Running
let token: string

beforeAll(async () => {
  const identity = await makeIdentity()
  storage = await mkdtemp(join(tmpdir(), "waxseal-"))
  worker = await startWorker({ bindings: { ...identity.bindings, ALLOWED_ORIGINS: APP }, storage })
  token = await identity.token({ principal: "alice", audience: `${worker.url}/mcp` })
})

afterAll(async () => {
  await worker.stop()
  await rm(storage, { recursive: true, force: true })
})

const list: Call = { method: "tools/call", name: "list_created", arguments: {} }

function send(changes: Partial<Call> = {}): Promise<Answer> {
  return call(`${worker.url}/mcp`, { ...list, token, ...changes })
}

/** Sends any bytes with the headers of a good call. */
async function post(body: BodyInit, headers: Record<string, string | undefined> = {}): Promise<Answer> {
  const good = encode({ ...list, token, headers }).headers
  const response = await fetch(`${worker.url}/mcp`, { method: "POST", headers: good, body })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === "" ? text : JSON.parse(text) }
}

const good = () => encode({ ...list, token }).body
const goodWith = (changes: object) => JSON.stringify({ ...JSON.parse(good()), ...changes })

async function expectNormal(): Promise<void> {
  expect(resultOf(await send()).isError).toBeFalsy()
}

describe("media types", () => {
  it("are read as RFC 9110 has them", async () => {
    const headers = { "content-type": "Application/JSON; charset=UTF-8", accept: "*/*" }
    expect((await post(good(), headers)).status).toBe(200)
  })

  it.each(["text/plain", "application/jsonp", "application/x-www-form-urlencoded"])("%s: 415", async (type) => {
    expect((await post(good(), { "content-type": type })).status).toBe(415)
  })

  it("none: 415", async () => {
    expect((await post(new TextEncoder().encode(good()), { "content-type": undefined })).status).toBe(415)
  })
})

describe("messages", () => {
  it.each(["[]", "[CALL]", " [CALL]", "[CALL,CALL]", "7", "null", '"x"', "{}", "true"])(
    "%s: 400, -32600",
    async (body) => {
      const answer = await post(body.replaceAll("CALL", good()))
      expect(answer.status).toBe(400)
      expect(errorOf(answer).code).toBe(-32600)
    },
  )

  it.each([
    { id: null },
    { id: true },
    { id: 1.5 },
    { id: {} },
    { id: [1] },
    { jsonrpc: "1.0" },
    { method: 7 },
    { params: [] },
  ])("%j: 400, -32600", async (changes) => {
    const answer = await post(goodWith(changes))
    expect(answer.status).toBe(400)
    expect(errorOf(answer).code).toBe(-32600)
  })

  it.each(["2025-11-25", "2025-06-18", "2025-03-26", undefined])(
    "in a batch of revision %s: 400, -32600",
    async (version) => {
      const older = JSON.stringify([{ jsonrpc: "2.0", id: 2, method: "tools/list" }])
      const answer = await post(older, {
        "mcp-protocol-version": version,
        "mcp-method": undefined,
        "mcp-name": undefined,
      })
      expect(answer.status).toBe(400)
      expect(errorOf(answer).code).toBe(-32600)
    },
  )

  it("mean the same with a member that belongs to another method", async () => {
    const params = (body: string, more: object) => {
      const message = JSON.parse(body)
      return JSON.stringify({ ...message, params: { ...message.params, ...more } })
    }
    expect((await post(params(good(), { uri: 7 }))).status).toBe(200)
    expect(JSON.stringify((await post(params(good(), { uri: 7 }))).body)).toContain('"databases"')
    const read = { token, method: "resources/read", name: "waxseal://created" }
    const stray = encode(read)
    const response = await fetch(`${worker.url}/mcp`, {
      method: "POST",
      headers: stray.headers,
      body: params(stray.body, { name: "x" }),
    })
    expect(await response.text()).toContain('"contents"')
  })

  it.each([
    ["tools/list", "tools"],
    ["prompts/list", "prompts"],
    ["resources/list", "resources"],
    ["resources/templates/list", "resourceTemplates"],
  ])("%s lists all of it, whatever else it names", async (method, member) => {
    const { headers, body } = encode({ token, method })
    const message = JSON.parse(body)
    const params = { ...message.params, name: "x", uri: "waxseal://x" }
    const listed = await post(JSON.stringify({ ...message, params }), headers)
    expect(Object(listed.body).result[member].length).toBeGreaterThan(0)
  })

  it.each([
    ["prompts/get", { name: "incident_report", arguments: { incident: 7 } }, "arguments.incident"],
    ["prompts/get", { name: "incident_report", arguments: [] }, "arguments"],
    ["prompts/get", { name: "incident_report", arguments: { incident: "\ud800" } }, "surrogate"],
    ["prompts/get", { name: 7 }, "name"],
    ["resources/read", { uri: 7 }, "uri"],
    ["resources/read", { uri: `waxseal://databases/${"x".repeat(200)}/connection` }, "name"],
    ["tools/list", { cursor: 7 }, "cursor"],
    ["resources/list", { cursor: null }, "cursor"],
  ])("%s with %j is the caller's mistake, said in a sentence", async (method, wrong, named) => {
    const { headers, body } = encode({ token, method, id: "mine" })
    const message = JSON.parse(body)
    const target = "uri" in wrong ? wrong.uri : "name" in wrong ? wrong.name : undefined
    const answer = await post(JSON.stringify({ ...message, params: { ...message.params, ...wrong } }), {
      ...headers,
      "mcp-name": typeof target === "string" ? target : undefined,
    })
    expect(answer.body).toMatchObject({ id: "mine", error: { code: -32602 } })
    expect(errorOf(answer).message).toContain(named)
    expect(errorOf(answer).message).not.toContain("[\n")
  })

  it.each([0, "", "x", -1])("the id %j is echoed", async (id) => {
    expect((await send({ id })).body).toMatchObject({ id })
  })

  it("that are no JSON in UTF-8: 400, -32700", async () => {
    const broken = new TextEncoder().encode(good())
    broken[good().indexOf("list_created", 20)] = 0xff
    for (const body of [good().slice(0, -1), "", broken, `${good()}x`, "{'a':1}"]) {
      const answer = await post(body)
      expect(answer.status).toBe(400)
      expect(errorOf(answer).code).toBe(-32700)
    }
  })

  it("with a member twice mean one thing to header check and execution", async () => {
    const twice = good().replace('"name":"list_created"', '"name":"list_created","name":"provision_database"')
    expect(errorOf(await post(twice)).code).toBe(-32020)
    const other = good().replace('"name":"list_created"', '"name":"provision_database","name":"list_created"')
    expect((await post(other)).status).toBe(200)
  })

  it("that notify: 202 and nothing", async () => {
    const { id: _, ...notification } = { ...JSON.parse(good()), method: "notifications/cancelled" }
    const answer = await post(JSON.stringify(notification), {
      "mcp-method": "notifications/cancelled",
      "mcp-name": undefined,
    })
    expect([answer.status, answer.body]).toEqual([202, ""])
  })
})

describe("standard headers", () => {
  const cases: [string, Record<string, string | undefined>, number][] = [
    ["no version", { "mcp-protocol-version": undefined }, -32020],
    ["another version than the body's", { "mcp-protocol-version": "2025-11-25" }, -32020],
    ["no method", { "mcp-method": undefined }, -32020],
    ["another method", { "mcp-method": "tools/list" }, -32020],
    ["no name", { "mcp-name": undefined }, -32020],
    ["another name", { "mcp-name": "provision_database" }, -32020],
    ["broken base64", { "mcp-name": "=?base64?@@@?=" }, -32020],
  ]

  it.each(cases)("%s: 400", async (_what, headers, code) => {
    const answer = await send({ headers })
    expect(answer.status).toBe(400)
    expect(errorOf(answer).code).toBe(code)
  })

  it("may give the name in base64", async () => {
    const headers = { "mcp-name": `=?base64?${btoa("list_created")}?=` }
    expect((await send({ headers })).status).toBe(200)
  })

  it("and body of an unknown version: 400, -32022 with those that are supported", async () => {
    const answer = await send({
      headers: { "mcp-protocol-version": "2031-01-01" },
      meta: { "io.modelcontextprotocol/protocolVersion": "2031-01-01" },
    })
    expect(answer.status).toBe(400)
    expect(errorOf(answer)).toMatchObject({ code: -32022, data: { supported: ["2026-07-28"] } })
  })
})

describe("methods and names", () => {
  it("that do not exist", async () => {
    const unknown = await post(goodWith({ method: "nope/nope" }), { "mcp-method": "nope/nope", "mcp-name": undefined })
    expect(unknown.status).toBe(404)
    expect(errorOf(unknown).code).toBe(-32601)
    for (const name of ["constructor", "toString", "__proto__", "hasOwnProperty", "nope"]) {
      const answer = await send({ name })
      expect(answer.status).toBe(200)
      expect(errorOf(answer).code).toBe(-32602)
    }
  })

  it("without client capabilities: -32602; without client info: fine", async () => {
    const without = (member: string) => ({ meta: { [`io.modelcontextprotocol/${member}`]: undefined } })
    const answer = await send(without("clientCapabilities"))
    expect(answer.status).toBe(400)
    expect(errorOf(answer).code).toBe(-32602)
    expect((await send(without("clientInfo"))).status).toBe(200)
  })

  it.each(["GET", "DELETE", "PUT"])("%s: 405 at once", async (method) => {
    const response = await fetch(`${worker.url}/mcp`, { method, headers: { authorization: `Bearer ${token}` } })
    expect(response.status).toBe(405)
    expect(response.headers.get("allow")).toBe("POST")
  })

  it("ignore a session id and make none", async () => {
    const { status, headers } = await send({ headers: { "mcp-session-id": "abc" } })
    expect(status).toBe(200)
    expect(headers.get("mcp-session-id")).toBeNull()
  })
})

describe("what may be kept", () => {
  it.each(["server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list"])(
    "%s, by everyone, for five minutes",
    async (method) => {
      const { body } = await call(`${worker.url}/mcp`, { token, method })
      expect(body).toMatchObject({ result: { ttlMs: 300_000, cacheScope: "public" } })
    },
  )

  it("a read, by nobody", async () => {
    const { body } = await call(`${worker.url}/mcp`, { token, method: "resources/read", name: "waxseal://created" })
    expect(body).toMatchObject({ result: { ttlMs: 0, cacheScope: "private" } })
  })

  it("a question, by nobody: it says nothing of keeping", async () => {
    const asked = resultOf(await send({ name: "provision_database", arguments: { name: "kept" } }))
    expect(asked).not.toHaveProperty("ttlMs")
  })
})

describe("hosts", () => {
  it.each(["bad host", "a:b:c", "[", "user@"])("that are none (%s): an error that says so, never 500", async (host) => {
    const answer = await raw(["GET /healthz HTTP/1.1", `Host: ${host}`, "", ""])
    expect(answer).toMatch(/^HTTP\/1.1 (4\d\d|503) /)
    await expectNormal()
  })
})

it("HEAD says what GET would, without a body", async () => {
  const head = (path: string) => fetch(`${worker.url}${path}`, { method: "HEAD" })
  expect((await head("/healthz")).status).toBe(200)
  expect(await (await head("/")).text()).toBe("")
  expect((await head("/mcp")).status).toBe(405)
})

describe("browsers", () => {
  const WANTED = "authorization, content-type, mcp-protocol-version, mcp-method, mcp-name"

  it("of an allowed origin get their preflight without a token", async () => {
    const { status, headers } = await fetch(`${worker.url}/mcp`, {
      method: "OPTIONS",
      headers: { origin: APP, "access-control-request-method": "POST", "access-control-request-headers": WANTED },
    })
    expect(status).toBe(204)
    expect(headers.get("access-control-allow-origin")).toBe(APP)
    expect(headers.get("access-control-allow-methods")).toContain("POST")
    expect(headers.get("access-control-allow-headers")).toBe(WANTED)
  })

  it("of an allowed origin may look for the metadata, as for any document here", async () => {
    const url = `${worker.url}/.well-known/oauth-protected-resource/mcp`
    const asking = { origin: APP, "access-control-request-method": "GET", "access-control-request-headers": WANTED }
    expect((await fetch(url, { method: "OPTIONS", headers: asking })).status).toBe(204)
    for (const [path, status] of [
      [url, 200],
      [`${worker.url}/nowhere`, 404],
    ] as const) {
      const answer = await fetch(path, { headers: { origin: APP } })
      expect(answer.status).toBe(status)
      expect(answer.headers.get("access-control-allow-origin")).toBe(APP)
    }
  })

  it("of an allowed origin may read answers and challenges", async () => {
    for (const sent of [{}, { token: "" }]) {
      const { headers } = await send({ ...sent, headers: { origin: APP } })
      expect(headers.get("access-control-allow-origin")).toBe(APP)
      expect(headers.get("access-control-expose-headers")).toContain("WWW-Authenticate")
      expect(headers.get("vary")).toContain("Origin")
    }
  })

  it.each([
    "null",
    "https://evil.test",
    `${APP}.evil.test`,
    "https://app.test:8443",
    "http://app.test",
    "https://APP.test/",
  ])("of the origin %s are turned away before anything runs", async (origin) => {
    for (const method of ["POST", "OPTIONS"]) {
      const headers = { origin, "access-control-request-method": "POST", authorization: `Bearer ${token}` }
      expect((await fetch(`${worker.url}/mcp`, { method, headers })).status).toBe(403)
    }
  })

  it("that say their own host is their origin are turned away", async () => {
    const status = await new Promise((resolve, reject) => {
      const headers = { host: "evil.test", origin: "http://evil.test" }
      httpRequest(`${worker.url}/mcp`, { method: "POST", headers }, (response) => resolve(response.statusCode))
        .on("error", reject)
        .end("{}")
    })
    expect([403, 503]).toContain(status)
  })
})

describe("floods", () => {
  it("a body over a mebibyte: 413, with and without its length", async () => {
    const body = goodWith({ filler: "x".repeat(1_048_576) })
    expect((await post(body)).status).toBe(413)
    const chunked = new Blob([body]).stream()
    const headers = encode({ ...list, token }).headers
    const answer = await fetch(`${worker.url}/mcp`, {
      method: "POST",
      headers,
      body: chunked,
      duplex: "half",
    } as RequestInit)
    expect(answer.status).toBe(413)
    await expectNormal()
  })

  it("a body of sixteen mebibytes that never ends: 413 long before its time is up", async () => {
    const { headers } = encode({ ...list, token })
    const lines = Object.entries({ ...headers, host: `127.0.0.1:${worker.port}`, "transfer-encoding": "chunked" })
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")
    const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`
    const socket = connect(worker.port, "127.0.0.1")
    // Whoever writes on to a server that has answered may be cut off.
    socket.on("error", () => {})
    socket.write(`POST /mcp HTTP/1.1\r\n${head}\r\n`)
    for (let written = 0; written < 256; written += 1) socket.write(chunk)
    const [answer] = await once(socket, "data", { signal: AbortSignal.timeout(8_000) })
    expect(String(answer)).toMatch(/^HTTP\/1.1 413 /)
    socket.destroy()
    await expectNormal()
  })

  it("a body nested a hundred thousand levels: 400", async () => {
    for (const [open, close] of [
      ["[", "]"],
      ['{"a":', "}"],
    ] as const) {
      const deep = `${open.repeat(100_000)}1${close.repeat(100_000)}`
      expect((await post(deep)).status).toBe(400)
      const inside = good().replace('"arguments":{}', `"arguments":{"a":${open.repeat(200)}1${close.repeat(200)}}`)
      const answer = await post(inside)
      expect(answer.status).toBe(400)
      expect(errorOf(answer).message).toContain("nested")
    }
    const brackets = good().replace('"arguments":{}', `"arguments":{"a":"\\"${"[".repeat(200)}\\\\"}`)
    expect((await post(brackets)).status).toBe(200)
    await expectNormal()
  })

  it("a body of more members or values than anyone needs: 400, before it is parsed", async () => {
    const members = Array.from({ length: 20_001 }, (_, index) => `"k${index}":1`).join()
    const small = Array.from({ length: 20_001 }, () => '{"k":1}').join()
    for (const wide of [`{${members}}`, `{"a":[${small}]}`, `{"a":[${"0,".repeat(200_000)}0]}`]) {
      const answer = await post(good().replace('"arguments":{}', `"arguments":${wide}`))
      expect(answer.status).toBe(400)
      expect(errorOf(answer).message).toContain("members")
    }
    const text = good().replace('"arguments":{}', `"arguments":{"a":"${":,[{".repeat(50_000)}"}`)
    expect((await post(text)).status).toBe(200)
    await expectNormal()
  })

  it("a state of a million dots: refused within a second", async () => {
    const sent = { name: "provision_database", arguments: { name: "dots" }, requestState: ".".repeat(1_000_000) }
    const times: number[] = []
    for (let time = 0; time < 3; time += 1) {
      const started = performance.now()
      expect(errorOf(await send(sent)).code).toBe(-32602)
      times.push(performance.now() - started)
    }
    expect(Math.min(...times)).toBeLessThan(1_000)
    await expectNormal()
  })

  it("a body that does not come: 408 after ten seconds, and nobody waits for it", async () => {
    const slow = raw([
      "POST /mcp HTTP/1.1",
      `Host: 127.0.0.1:${worker.port}`,
      ...Object.entries(encode({ ...list, token }).headers).map(([name, value]) => `${name}: ${value}`),
      "Content-Length: 1000",
      "",
      '{"jsonrpc"',
    ])
    await sleep(200)
    await expectNormal()
    expect(await slow).toMatch(/^HTTP\/1.1 408 /)
  }, 20_000)

  it("lengths that disagree, and a flood of headers, do not reach the Worker or harm it", async () => {
    const start = ["POST /mcp HTTP/1.1", `Host: 127.0.0.1:${worker.port}`]
    const authorized = Object.entries(encode({ ...list, token }).headers).map(([name, value]) => `${name}: ${value}`)
    const chunked = [good().length.toString(16), good(), "0", "", ""]
    const ambiguous = [
      [...start, "Content-Length: 5", "Content-Length: 6", "", "hello!"],
      [...start, "Content-Length: -1", "", ""],
      [...start, "Transfer-Encoding: gzip, chunked", "", "0", "", ""],
      [...start, ...Array.from({ length: 20_000 }, (_, index) => `X-Flood-${index}: ${"x".repeat(40)}`), "", ""],
    ]
    // RFC 9112 6.3: Transfer-Encoding overrides Content-Length. The runtime reads it so, and nothing is left over.
    const both = [...start, ...authorized, "Content-Length: 5", "Transfer-Encoding: chunked", "", ...chunked]
    expect(await raw(both)).toMatch(/^HTTP\/1.1 200 /)
    for (const lines of ambiguous) {
      expect(await raw(lines)).toMatch(/^$|^HTTP\/1.1 [45]\d\d /)
      await expectNormal()
    }
  })

  it("leave the runtime's memory where it was", async () => {
    const body = goodWith({ filler: "x".repeat(1_200_000) })
    const flood = async () => {
      for (let round = 0; round < 5; round += 1) await Promise.all(Array.from({ length: 8 }, () => post(body)))
    }
    await flood()
    const before = await residentMebibytes()
    await flood()
    await flood()
    expect((await residentMebibytes()) - before).toBeLessThan(64)
  })
})

/** Sends lines as they are, and gives what came back until the connection closed or an answer was complete. */
function raw(lines: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(worker.port, "127.0.0.1", () => socket.write(lines.join("\r\n")))
    let received = ""
    socket.on("data", (data) => {
      received += data
      if (received.includes("\r\n\r\n")) socket.destroy()
    })
    socket.on("error", () => socket.destroy())
    socket.on("close", () => resolve(received))
  })
}

async function residentMebibytes(): Promise<number> {
  const status = await readFile(`/proc/${worker.pid}/status`, "utf8")
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024
}
