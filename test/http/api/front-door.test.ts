import { once } from "node:events"
import { connect } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { ALL_SCOPES, type Api, type ApiAnswer, type ApiCall, startApi } from "../../support/api.ts"

const APP = "https://app.example.com"

let api: Api
/** Takes ten seconds, in which the other tests run. */
let slow: Promise<ApiAnswer>

beforeAll(async () => {
  api = await startApi({ bindings: { ALLOWED_ORIGINS: APP } })
  slow = seal({ raw: new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode("{")) }) })
})

afterAll(() => api.stop())

const SEAL = { state: 1, principal: "alice", request: { method: "tools/call", target: "x" } }
const seal = (options: ApiCall = {}, body: unknown = SEAL) => api.call("/v1/seal", body, options)

function expectProblem(answer: ApiAnswer, status: number, code: string): void {
  expect(answer.headers.get("content-type")).toBe("application/problem+json")
  expect(answer).toMatchObject({
    status,
    body: { status, code, title: expect.any(String), detail: expect.any(String) },
  })
}

async function expectNormal(): Promise<void> {
  expect((await seal()).status).toBe(200)
}

describe("bodies", () => {
  it.each(["application/json", "Application/JSON; charset=UTF-8", "application/json ; x=y"])(
    "%s: 200",
    async (type) => {
      expect((await seal({ headers: { "content-type": type, accept: "*/*" } })).status).toBe(200)
    },
  )

  it.each(["text/plain", "application/x-www-form-urlencoded", "application/jsonp", "application/problem+json"])(
    "%s: 415",
    async (type) => {
      expectProblem(await seal({ headers: { "content-type": type } }), 415, "unsupported_media_type")
    },
  )

  it("without a media type or a body: 415", async () => {
    const headers = { authorization: `Bearer ${await api.token()}` }
    const bytes = new TextEncoder().encode(JSON.stringify(SEAL))
    const response = await fetch(`${api.worker.url}/v1/seal`, { method: "POST", headers, body: bytes })
    expect(response.status).toBe(415)
    expectProblem(await api.call("/v1/seal", undefined, { method: "POST" }), 415, "unsupported_media_type")
  })

  it.each(["", "{", '{"a":1}x', "{'a':1}", "undefined"])(
    "that are no JSON, such as no. %#: 400 invalid_json",
    async (raw) => {
      const headers = { "content-type": "application/json" }
      expectProblem(await seal({ raw: new TextEncoder().encode(raw), headers }), 400, "invalid_json")
    },
  )

  it("that are nested too deep: 400 invalid_body", async () => {
    const headers = { "content-type": "application/json" }
    const deep = (levels: number) => new TextEncoder().encode("[".repeat(levels) + "]".repeat(levels))
    const answer = await seal({ raw: deep(97), headers })
    expectProblem(answer, 400, "invalid_body")
    expect(answer.body["errors"]).toEqual([{ path: "", message: "is nested deeper than 96 levels" }])
    expect((await seal({ raw: deep(96), headers })).body["errors"]).not.toEqual(answer.body["errors"])
  })

  it.each([
    ["members", `{${Array.from({ length: 20_001 }, (_, index) => `"${index}":0`).join()}}`],
    ["values", `[${"0,".repeat(200_000)}0]`],
  ])("of too many %s: 400 invalid_body", async (_what, wide) => {
    const headers = { "content-type": "application/json" }
    const answer = await seal({ raw: new TextEncoder().encode(wide), headers })
    expectProblem(answer, 400, "invalid_body")
    const message = "has more than 20,000 members or 200,000 values"
    expect(answer.body["errors"]).toEqual([{ path: "", message }])
  })

  it("that are no UTF-8: 400 invalid_json", async () => {
    const broken = new TextEncoder().encode(JSON.stringify(SEAL))
    broken[JSON.stringify(SEAL).indexOf("alice")] = 0xff
    expectProblem(await seal({ raw: broken }), 400, "invalid_json")
  })

  it.each([[[]], [[SEAL]], [7], [null], ["x"], [true], [{}]])("%j: 400 invalid_body", async (body) => {
    expectProblem(await seal({}, body), 400, "invalid_body")
  })

  it("of 2 MiB are read, and of a byte more are not, with or without a length", async () => {
    const padded = (size: number) => {
      const text = JSON.stringify(SEAL)
      return new TextEncoder().encode(text + " ".repeat(size - text.length))
    }
    expect((await seal({ raw: padded(2_097_152) })).status).toBe(200)
    expectProblem(await seal({ raw: padded(2_097_153) }), 413, "body_too_large")
    expectProblem(await seal({ raw: new Blob([padded(2_097_153)]).stream() }), 413, "body_too_large")
    expectProblem(await seal({ raw: new Blob([padded(6_000_000)]).stream() }), 413, "body_too_large")
    await expectNormal()
  })
})

describe("a length that is declared beside chunks", () => {
  it("does not count", async () => {
    const chunk = `${(1_048_576).toString(16)}\r\n${" ".repeat(1_048_576)}\r\n`
    const lines = [
      "POST /v1/seal HTTP/1.1",
      `Host: ${new URL(api.worker.url).host}`,
      `Authorization: Bearer ${await api.token()}`,
    ]
    lines.push("Content-Type: application/json", "Content-Length: 5", "Transfer-Encoding: chunked", "", "")
    const socket = connect(api.worker.port, "127.0.0.1")
    socket.write(`${lines.join("\r\n")}${chunk.repeat(3)}0\r\n\r\n`)
    const [answer] = await once(socket, "data")
    socket.destroy()
    expect(String(answer)).toMatch(/^HTTP\/1.1 (413|400) /)
    await expectNormal()
  })
})

describe("paths and methods", () => {
  it.each([
    "/v1",
    "/v1/",
    "/v1/nope",
    "/v1/seal/",
    "/v1/Seal",
    "/v1/operations",
    "/v1/operations/k/nope",
    "/v1/../v1/x",
  ])("%s: 404", async (path) => {
    expectProblem(await api.call(path, SEAL), 404, "not_found")
  })

  it.each([
    ["GET", "/v1/seal", "POST"],
    ["PUT", "/v1/open", "POST"],
    ["DELETE", "/v1/redeem", "POST"],
    ["OPTIONS", "/v1/batch", "POST"],
    ["POST", "/v1/keys", "GET"],
    ["GET", "/v1/operations/k/begin", "POST"],
    ["POST", "/v1/operations/k", "GET"],
  ])("%s %s: 405, allowing %s", async (method, path, allowed) => {
    const answer = await api.call(path, method === "GET" ? undefined : {}, { method })
    expectProblem(answer, 405, "method_not_allowed")
    expect(answer.headers.get("allow")).toBe(allowed)
  })

  it("HEAD is GET without the body, and nothing where there is no GET", async () => {
    const head = (path: string) => api.call(path, undefined, { method: "HEAD" })
    expect(await head("/v1/keys")).toMatchObject({ status: 200, body: {} })
    const refused = await head("/v1/seal")
    expect([refused.status, refused.headers.get("allow")]).toEqual([405, "POST"])
  })
})

describe("identity", () => {
  const METADATA = () => `${api.worker.url}/.well-known/oauth-protected-resource/v1`

  it("no token: 401 without an error", async () => {
    const answer = await seal({ as: null })
    expectProblem(answer, 401, "unauthorized")
    expect(answer.headers.get("www-authenticate")).toBe(`Bearer resource_metadata="${METADATA()}"`)
  })

  it("the metadata resolves, and its resource is the API", async () => {
    expect(await (await fetch(METADATA())).json()).toMatchObject({
      resource: `${api.worker.url}/v1`,
      authorization_servers: [api.identity.issuer],
      scopes_supported: ALL_SCOPES.split(" "),
    })
  })

  it.each([
    ["garbage", async () => "garbage"],
    ["a token for /mcp", async () => api.token({ audience: `${api.worker.url}/mcp` })],
    ["a token for elsewhere", async () => api.token({ audience: "https://other.test/v1" })],
    ["an expired token", async () => api.token({ ttl: -60 })],
    ["another issuer's token", async () => api.token({ issuer: "https://evil.test" })],
  ])("%s: 401 invalid_token", async (_what, token) => {
    const answer = await seal({ as: null, headers: { authorization: `Bearer ${await token()}` } })
    expectProblem(answer, 401, "invalid_token")
    expect(answer.headers.get("www-authenticate")).toContain('error="invalid_token"')
  })

  it("a token for /v1 does nothing at /mcp", async () => {
    const scope = `mcp ${ALL_SCOPES}`
    expect((await api.call("/mcp", {}, { as: { scope } })).status).toBe(401)
  })

  const CALLS: [method: string, path: string, scope: string][] = [
    ["POST", "/v1/seal", "state:seal"],
    ["POST", "/v1/open", "state:open"],
    ["POST", "/v1/redeem", "state:redeem"],
    ["GET", "/v1/keys", "state:open"],
    ["POST", "/v1/operations/k/begin", "operations"],
    ["POST", "/v1/operations/k/complete", "operations"],
    ["POST", "/v1/operations/k/fail", "operations"],
    ["POST", "/v1/operations/k/renew", "operations"],
    ["POST", "/v1/operations/k/resolve", "operations"],
    ["GET", "/v1/operations/k", "operations"],
  ]

  it.each(CALLS)("%s %s needs %s and no other scope", async (method, path, scope) => {
    const others = [...ALL_SCOPES.split(" ").filter((one) => one !== scope), `${scope}-all`, "mcp"].join(" ")
    const body = method === "GET" ? undefined : {}
    const refused = await api.call(path, body, { as: { scope: others } })
    expectProblem(refused, 403, "insufficient_scope")
    expect(refused.headers.get("www-authenticate")).toBe(
      `Bearer error="insufficient_scope", scope="${scope}", resource_metadata="${METADATA()}"`,
    )
    expect([200, 400, 404]).toContain((await api.call(path, body, { as: { scope } })).status)
  })
})

describe("browsers", () => {
  const headers = { origin: APP }

  it.each(["null", "https://evil.test", `${APP}.evil.test`])("of the origin %s: 403", async (origin) => {
    expectProblem(await seal({ headers: { origin } }), 403, "origin_not_allowed")
  })

  it("of an allowed origin may preflight without a token, and read the answers", async () => {
    const asked = "authorization, content-type"
    const preflight = await api.call("/v1/seal", undefined, {
      as: null,
      method: "OPTIONS",
      headers: { ...headers, "access-control-request-method": "POST", "access-control-request-headers": asked },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get("access-control-allow-headers")).toBe(asked)
    expect((await seal({ headers })).headers.get("access-control-allow-origin")).toBe(APP)
    const refused = await seal({ as: null, headers })
    expect(refused.status).toBe(401)
    expect(refused.headers.get("access-control-allow-origin")).toBe(APP)
    expect(refused.headers.get("access-control-expose-headers")).toContain("WWW-Authenticate")
  })
})

it("lists the keys by their ids", async () => {
  const { status, body } = await api.call("/v1/keys")
  expect([status, body]).toEqual([
    200,
    {
      keys: [
        { keyId: expect.stringMatching(/^[0-9a-f]{8}$/), suite: 1, state: "sealing", sealsFrom: expect.any(String) },
      ],
    },
  ])
})

it("tells of keys that changed, and which states to seal anew", async () => {
  const [old] = JSON.parse(api.identity.bindings.SEAL_KEYS)
  const now = Date.now()
  const sealsFrom = (offset: number) => new Date(now + offset * 1_000).toISOString()
  const key = () => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url")
  const ring = (...keys: object[]) => ({ ...api.identity.bindings, SEAL_KEYS: JSON.stringify([old, ...keys]) })
  const soon = { key: key(), sealsFrom: sealsFrom(3_600) }
  const rotated = await startApi({ bindings: ring({ key: key(), sealsFrom: sealsFrom(-60) }, soon) })
  const { keys } = (
    await rotated.call("/v1/keys", undefined, { as: null, headers: { authorization: await bearer(rotated) } })
  ).body
  expect(keys).toMatchObject([
    { state: "opening", sealsUntil: expect.any(String), opensUntil: expect.any(String) },
    { state: "sealing", sealsUntil: soon.sealsFrom },
    { state: "upcoming" },
  ])
  const { requestState } = (await seal()).body
  const { state: _, ...bound } = SEAL
  const options = { as: null, headers: { authorization: await bearer(rotated) } }
  const opened = await rotated.call("/v1/open", { requestState, ...bound }, options)
  expect(opened).toMatchObject({ status: 200, body: { state: 1, needsReseal: true } })
  await rotated.stop()

  async function bearer({ worker }: Api): Promise<string> {
    return `Bearer ${await api.identity.token({ principal: "server", audience: `${worker.url}/v1`, scope: ALL_SCOPES })}`
  }
})

it("a body that does not arrive: 408", async () => {
  expectProblem(await slow, 408, "body_too_slow")
})

it("keys of the issuer that cannot be had: 503 with when to try again", async () => {
  const worker = await startApi({ bindings: { AUTH_JWKS: undefined, AUTH_JWKS_URL: "http://127.0.0.1:9/jwks" } })
  const answer = await worker.call("/v1/keys")
  expectProblem(answer, 503, "keys_unavailable")
  expect(answer.headers.get("retry-after")).toBe("5")
  await worker.stop()
})

it("without authentication, on localhost, anybody is one caller with all scopes", async () => {
  const open = await startApi({ bindings: { AUTH_MODE: "none" } })
  expect(await open.call("/v1/batch", { requests: [{ op: "seal", ...SEAL }] }, { as: null })).toMatchObject({
    status: 200,
    body: { responses: [{ status: 200 }] },
  })
  expect((await open.call("/v1/operations/k/begin", { fingerprint: "x" }, { as: null })).status).toBe(201)
  await open.stop()
})
