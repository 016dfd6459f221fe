import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type LegacyClient, legacyClient } from "../../support/legacy.ts"
import { call, encode, resultOf as modernResultOf } from "../../support/mcp.ts"
import { inRegion, provision, questionOf, resultOf, type Stage, startStage } from "./stage.ts"

const LISTS = { method: "tools/list", params: {} }

let stage: Stage
let alices: LegacyClient

beforeAll(async () => {
  stage = await startStage()
  alices = await stage.open()
})

afterAll(() => stage.end())

async function refusal(response: Response): Promise<string> {
  return `${response.status} ${response.headers.get("content-type")} ${await response.text()}`
}

describe("a session's id", () => {
  it("is no use to another person, tenant, client or endpoint, says the same as one that never was, and touches nothing", async () => {
    const session = alices.session ?? ""
    const localhost = `http://localhost:${stage.worker.port}/mcp`
    const before = await stage.objects("Session")
    const unknown = await refusal(
      await legacyClient(stage.url, await stage.token(), "unknown").send({ id: 1, ...LISTS }),
    )
    expect(unknown).toMatch(/^404 .*"code":-32001/)
    const strangers = [
      legacyClient(stage.url, await stage.token({ principal: "bob" }), session),
      legacyClient(stage.url, await stage.token({ tenant: "other" }), session),
      legacyClient(stage.url, await stage.token({ client: "another" }), session),
      legacyClient(localhost, await stage.token({ audience: localhost }), session),
    ]
    for (const stranger of strangers) {
      expect(await refusal(await stranger.send({ id: 1, ...LISTS }))).toBe(unknown)
      expect(await refusal(await stranger.end())).toBe(unknown)
      const headers = { authorization: `Bearer ${await stage.token({ principal: "bob" })}`, "mcp-session-id": session }
      expect(await refusal(await fetch(stage.url, { headers }))).toBe(unknown)
    }
    expect(await stage.objects("Session")).toEqual(before)
    expect(stage.worker.logs()).toContain('"event":"session_refused","reason":"principal"')
    expect(stage.worker.logs()).toContain('"event":"session_refused","reason":"audience"')
    expect(stage.worker.logs()).not.toContain(session)
    expect((await alices.send({ id: 1, ...LISTS })).status).toBe(200)
  })

  it("changed in any way, or sealed for something else, is one that never was", async () => {
    const session = alices.session ?? ""
    const asked = await call(stage.url, {
      token: await stage.token(),
      method: "tools/call",
      name: "provision_database",
      arguments: { name: "state" },
    })
    const state = modernResultOf(asked).requestState ?? ""
    const last = session.endsWith("A") ? "B" : "A"
    const bad = [
      `${session.slice(0, -1)}${last}`,
      session.slice(1),
      `${session}A`,
      `${session}=`,
      ".".repeat(8_000),
      state,
    ]
    for (const id of bad) {
      const response = await legacyClient(stage.url, await stage.token(), id).send({ id: 1, ...LISTS })
      expect(response.status).toBe(404)
    }
  })

  it("is small whatever the client says of itself", async () => {
    const capabilities = {
      elicitation: { form: {}, url: {} },
      sampling: { tools: {} },
      roots: {},
      experimental: { x: { y: "z".repeat(9_000) } },
    }
    const { session = "" } = await stage.open({}, { capabilities, name: "\u{1F58B}".repeat(5_000) })
    expect(session.length).toBeLessThan(1_000)
    expect((await legacyClient(stage.url, await stage.token(), session).send({ id: 1, ...LISTS })).status).toBe(200)
  })

  it("needs an access token beside it, on every method", async () => {
    const headers = { "mcp-session-id": alices.session ?? "" }
    for (const method of ["GET", "POST", "DELETE"])
      expect((await fetch(stage.url, { method, headers })).status).toBe(401)
  })

  it("is not given for what is no initialize", async () => {
    const client = legacyClient(stage.url, await stage.token(), undefined)
    const responses = [
      await client.send({ method: "initialize", params: {} }),
      await client.send({ id: 1, method: "initialize", params: {} }),
      await client.send(
        { id: 1, method: "initialize", params: { protocolVersion: "2025-11-25" } },
        { accept: "text/html" },
      ),
      await client.send({ id: 1, ...LISTS }),
    ]
    for (const { headers } of responses) expect(headers.get("mcp-session-id")).toBeNull()
  })

  it("is ignored where the request is of revision 2026-07-28", async () => {
    const headers = { "mcp-session-id": alices.session ?? "" }
    const before = await stage.objects("Session")
    for (const id of [headers, { "mcp-session-id": "unknown" }]) {
      const answer = await call(stage.url, { token: await stage.token(), method: "tools/list", headers: id })
      expect(answer.status).toBe(200)
      expect(answer.headers.get("mcp-session-id")).toBeNull()
    }
    const modern = { ...headers, authorization: `Bearer ${await stage.token()}`, "mcp-protocol-version": "2026-07-28" }
    for (const method of ["GET", "DELETE"])
      expect((await fetch(stage.url, { method, headers: modern })).status).toBe(405)
    const { headers: own, body } = encode({ token: await stage.token(), method: "initialize" })
    const begun = await fetch(stage.url, { method: "POST", headers: own, body })
    expect(begun.headers.get("mcp-session-id")).toBeNull()
    expect(await stage.objects("Session")).toEqual(before)
  })
})

describe("in a session", () => {
  it("an answer of another principal is refused, and the question still waits for its own", async () => {
    const client = await stage.open()
    const stream = await provision(client, "mine")
    const question = await questionOf(stream)
    const bobs = legacyClient(stage.url, await stage.token({ principal: "bob" }), client.session)
    expect((await bobs.send(inRegion(question, "us-east-1"))).status).toBe(404)
    const own = await stage.open({ principal: "bob" })
    expect((await own.send(inRegion(question, "us-east-1"))).status).toBe(400)
    expect((await client.send(inRegion(question))).status).toBe(202)
    expect(await resultOf(stream)).toMatchObject({ structuredContent: { database: { region: "eu-west-1" } } })
  })

  it("a tool sees neither the access token nor any header but the transport's", async () => {
    const client = await stage.open()
    const stream = await client.call(
      "tools/call",
      { name: "headers", arguments: {} },
      { "x-principal": "bob", "cf-connecting-ip": "1.2.3.4", cookie: "a=b", "waxseal-identity": '{"principal":"bob"}' },
    )
    const { content } = await resultOf(stream)
    const names = [...JSON.stringify(content).matchAll(/\[\\"([a-z-]+)\\"/g)].map(([, name]) => name)
    expect(names.sort()).toEqual(["accept", "content-type", "mcp-protocol-version", "mcp-session-id"])
  })

  it("scopes are those of the access token that answers", async () => {
    const ask = async (scope: string, answers: string) => {
      const client = await stage.open({ scope })
      const stream = await client.call("tools/call", {
        name: "create_project",
        arguments: { name: answers, account: "acme" },
      })
      if (stream.response.status !== 200) return stream
      const { id } = await questionOf(stream)
      const answering = legacyClient(stage.url, await stage.token({ scope: answers }), client.session)
      await answering.send({ id, result: { action: "accept", content: { approved: true } } })
      return stream
    }
    const BOTH = "mcp projects:create"
    expect(await resultOf(await ask(BOTH, "mcp"))).toMatchObject({ structuredContent: { status: "failed" } })
    expect(await resultOf(await ask(BOTH, BOTH))).toMatchObject({ structuredContent: { status: "completed" } })
    const { response } = await ask("mcp", BOTH)
    expect(response.status).toBe(403)
    expect(response.headers.get("www-authenticate")).toContain('scope="projects:create"')
  })
})
