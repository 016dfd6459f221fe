import { createHash } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Api, type ApiAnswer, type ApiCall, startApi, text } from "../../support/api.ts"
import { call as callMcp, errorOf, resultOf } from "../../support/mcp.ts"

let api: Api

beforeAll(async () => {
  api = await startApi()
})

afterAll(() => api.stop())

const ALICE = {
  principal: "alice",
  request: { method: "tools/call", target: "create_project", arguments: { name: "orders", nested: { b: 1, a: "é" } } },
}
const ATTEMPT = "attempt-0123456789"

const seal = (changes: object = {}, options: ApiCall = {}) =>
  api.call("/v1/seal", { state: { cost: 40 }, ...ALICE, ...changes }, options)
const open = (requestState: string, changes: object = {}, options: ApiCall = {}) =>
  api.call("/v1/open", { requestState, ...ALICE, ...changes }, options)
const redeem = (requestState: string, changes: object = {}, options: ApiCall = {}) =>
  api.call("/v1/redeem", { requestState, ...ALICE, ...changes }, options)

async function sealed(changes: object = {}, options: ApiCall = {}): Promise<string> {
  return text(await seal(changes, options), "requestState")
}

function expectProblem(answer: ApiAnswer, status: number, code: string, members: object = {}): void {
  expect(answer.headers.get("content-type")).toBe("application/problem+json")
  const document = { type: "about:blank", title: expect.any(String), detail: expect.any(String), status, code }
  expect(answer).toMatchObject({ status, body: { ...document, ...members } })
}

const milliseconds = (answer: ApiAnswer, member: string) => Date.parse(text(answer, member))
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

describe("seal", () => {
  it("answers with an opaque state and its times", async () => {
    const before = Date.now()
    const answer = await seal()
    expect(answer).toMatchObject({ status: 200, body: { round: 1, operationId: expect.stringMatching(/^[\w-]{16}$/) } })
    expect(Object.keys(answer.body).sort()).toEqual(
      ["deadline", "expiresAt", "issuedAt", "operationId", "requestState", "round"].sort(),
    )
    for (const member of ["issuedAt", "expiresAt", "deadline"]) expect(answer.body[member]).toMatch(TIME)
    const issuedAt = milliseconds(answer, "issuedAt")
    expect(Math.abs(issuedAt - before)).toBeLessThan(5_000)
    expect(milliseconds(answer, "expiresAt") - issuedAt).toBe(300_000)
    expect(milliseconds(answer, "deadline") - issuedAt).toBe(600_000)
    expect(text(answer, "requestState")).not.toContain("alice")
    expect(answer.headers.get("cache-control")).toBe("no-store")
  })

  it.each([
    [{ ttlSeconds: 1 }, 1, 600],
    [{ ttlSeconds: 86_400 }, 86_400, 86_400],
    [{ ttlSeconds: 700 }, 700, 700],
    [{ ttlSeconds: 60, deadlineSeconds: 60 }, 60, 60],
    [{ ttlSeconds: 60, deadlineSeconds: 86_400 }, 60, 86_400],
  ])("honours %j exactly", async (times, ttl, deadline) => {
    const answer = await seal(times)
    const issuedAt = milliseconds(answer, "issuedAt")
    expect(milliseconds(answer, "expiresAt") - issuedAt).toBe(ttl * 1_000)
    expect(milliseconds(answer, "deadline") - issuedAt).toBe(deadline * 1_000)
  })

  it.each([
    ["ttlSeconds", 0],
    ["ttlSeconds", -1],
    ["ttlSeconds", "60"],
    ["ttlSeconds", null],
    ["ttlSeconds", 1e15],
    ["ttlSeconds", 1.5],
    ["ttlSeconds", 86_401],
    ["ttlSeconds", 2 ** 31],
    ["ttlSeconds", 2 ** 32],
    ["deadlineSeconds", 86_401],
    ["deadlineSeconds", 299],
    ["maxRounds", 0],
    ["maxRounds", 21],
    ["principal", ""],
    ["principal", "\ud800"],
    ["audience", ""],
    ["audience", null],
    ["continues", 7],
    ["surprise", 1],
  ])("refuses %s %j and says where", async (member, value) => {
    expectProblem(await seal({ [member]: value }), 400, "invalid_body", {
      errors: [{ path: `/${member}`, message: expect.any(String) }],
    })
  })

  it("refuses what is too long", async () => {
    expectProblem(await seal({ principal: "x".repeat(513) }), 400, "invalid_body", { errors: [{ path: "/principal" }] })
    expectProblem(await seal({ principal: "é".repeat(257) }), 400, "invalid_body", { errors: [{ path: "/principal" }] })
    expectProblem(await seal({ state: "x".repeat(4_095) }), 400, "invalid_body", { errors: [{ path: "/state" }] })
    expect((await seal({ state: "x".repeat(4_094), principal: "é".repeat(256) })).status).toBe(200)
  })

  it("refuses 1e999, which JSON can write", async () => {
    const body = JSON.stringify({ state: 1, ...ALICE, ttlSeconds: 0 }).replace('"ttlSeconds":0', '"ttlSeconds":1e999')
    expectProblem(await api.call("/v1/seal", undefined, { raw: body }), 400, "invalid_body")
  })

  it.each([
    [{ method: "tools/call", target: "x", arguments: [] }, "/request/arguments"],
    [{ method: "tools/call", target: "x", arguments: { a: 2 ** 53 } }, "/request/arguments"],
    [{ method: "tools/call", target: "x", arguments: { a: "\udead" } }, "/request/arguments"],
    [{ method: "tools/call", target: "x", arguments: {}, argumentsDigest: "A".repeat(43) }, "/request/argumentsDigest"],
    [{ method: "tools/call", target: "x", argumentsDigest: "AAAA" }, "/request/argumentsDigest"],
    [{ method: "tools/call", target: "x", argumentsDigest: `${"A".repeat(42)}B` }, "/request/argumentsDigest"],
    [{ method: "tools/call" }, "/request/target"],
    [{ method: "tools/call", target: "x", extra: 1 }, "/request/extra"],
  ])("refuses the request %j", async (request, path) => {
    expectProblem(await seal({ request }), 400, "invalid_body", { errors: [{ path, message: expect.any(String) }] })
  })

  it("names at most ten misfits, none of them at length", async () => {
    const long = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`${index}${"x".repeat(5_000)}`, 1]))
    const answer = await seal(long)
    expectProblem(answer, 400, "invalid_body")
    expect(answer.body["errors"]).toHaveLength(10)
    expect(JSON.stringify(answer.body).length).toBeLessThan(4_000)
  })

  it.each([null, 0, false, "", [], {}, [1, { a: "ü" }]])("keeps the state %j", async (state) => {
    const answer = await open(await sealed({ state }))
    expect(answer.body["state"]).toEqual(state)
  })
})

describe("open", () => {
  it("gives back what was sealed, any number of times", async () => {
    const answer = await seal()
    const { requestState, ...told } = answer.body
    for (let time = 0; time < 3; time++) {
      const opened = await open(String(requestState))
      expect(opened.status).toBe(200)
      expect(opened.body).toEqual({
        ...told,
        state: { cost: 40 },
        keyId: expect.stringMatching(/^[0-9a-f]{8}$/),
        needsReseal: false,
      })
    }
  })

  it("takes the same arguments in any spelling, and their digest", async () => {
    const state = await sealed()
    const spelled = { nested: { a: "é", b: 1.0 }, name: "orders" }
    expect((await open(state, { request: { ...ALICE.request, arguments: spelled } })).status).toBe(200)
    const canonical = '{"name":"orders","nested":{"a":"é","b":1}}'
    const argumentsDigest = createHash("sha256").update(canonical).digest("base64url")
    const { arguments: _, ...request } = ALICE.request
    expect((await open(state, { request: { ...request, argumentsDigest } })).status).toBe(200)
    expect((await open(await sealed({ request: { ...request, argumentsDigest } }))).status).toBe(200)
  })

  it.each([
    ["principal", { principal: "bob" }, "principal"],
    ["audience", { audience: "https://one.test" }, "audience"],
    ["target", { request: { ...ALICE.request, target: "delete_project" } }, "request"],
    ["method", { request: { ...ALICE.request, method: "prompts/get" } }, "request"],
    ["arguments", { request: { ...ALICE.request, arguments: { name: "other" } } }, "request"],
    ["no arguments", { request: { method: "tools/call", target: "create_project" } }, "request"],
    [
      "everything",
      { principal: "bob", audience: "https://one.test", request: { method: "a", target: "b" } },
      "principal",
    ],
  ])("refuses another %s", async (_what, changes, reason) => {
    expectProblem(await open(await sealed(), changes), 422, "invalid_request_state", { reason })
  })

  it("tells absent from empty", async () => {
    const { arguments: _, ...request } = ALICE.request
    const none = await sealed({ request })
    expect((await open(none, { request })).status).toBe(200)
    expect((await open(none, { request: { ...request, arguments: {} } })).body).toMatchObject({ reason: "request" })
    const here = await sealed({ audience: "https://one.test" })
    expect((await open(here, { audience: "https://one.test" })).status).toBe(200)
    expect((await open(here)).body).toMatchObject({ reason: "audience" })
  })

  it("binds a member called __proto__", async () => {
    const request = (inner: string) => `{"method":"tools/call","target":"x","arguments":{${inner}}}`
    const send = (path: string, body: string) => api.call(path, undefined, { raw: body })
    const bound = `{"state":1,"principal":"alice","request":${request('"__proto__":{"admin":false}')}}`
    const state = text(await send("/v1/seal", bound), "requestState")
    const opening = (inner: string) =>
      send("/v1/open", `{"requestState":"${state}","principal":"alice","request":${request(inner)}}`)
    expect((await opening('"__proto__":{"admin":false}')).status).toBe(200)
    expect((await opening('"__proto__":{"admin":true}')).body).toMatchObject({ reason: "request" })
    expect((await opening("")).body).toMatchObject({ reason: "request" })
    expectProblem(await send("/v1/seal", bound.replace("{", '{"__proto__":1,')), 400, "invalid_body")
  })

  it("refuses whatever else is sent for a state, and never fails", async () => {
    const state = await sealed()
    const flipped = (at: number) => state.slice(0, at) + (state[at] === "A" ? "B" : "A") + state.slice(at + 1)
    const forged = [
      ...Array.from({ length: state.length }, (_, at) => flipped(at)),
      ...Array.from({ length: state.length }, (_, length) => state.slice(0, length)),
      ...[
        `${state}=`,
        `${state}\n`,
        `${state.slice(0, 9)} ${state.slice(9)}`,
        `${state}A`,
        "\ud800",
        ".".repeat(1_000_000),
      ],
    ]
    const answers = await Promise.all(forged.map((one) => open(one)))
    for (const answer of answers) expectProblem(answer, 422, "invalid_request_state")
    expect((await open(state)).status).toBe(200)
  })

  it("says which of several reasons comes first", async () => {
    expect((await open("!")).body).toMatchObject({ reason: "malformed" })
    const state = await sealed()
    expect((await open(`AQ${"A".repeat(state.length - 2)}`)).body).toMatchObject({ reason: "unknown_key" })
    const last = state.endsWith("A") ? "Q" : "A"
    const tampered = `${state.slice(0, -5)}${last}${last}${last}${last}${state.slice(-1)}`
    expect((await open(tampered)).body).toMatchObject({ reason: "forged" })
  })

  it("refuses a state past its time", async () => {
    const state = await sealed({ ttlSeconds: 1 })
    expect((await open(state)).status).toBe(200)
    await sleep(1_050)
    expectProblem(await open(state), 422, "invalid_request_state", { reason: "expired" })
    expect((await redeem(state)).body).toMatchObject({ reason: "expired" })
    expect((await seal({ continues: state })).body).toMatchObject({ reason: "expired" })
  })
})

describe("continues", () => {
  it("counts rounds and keeps operation and deadline", async () => {
    const first = await seal({ maxRounds: 2, deadlineSeconds: 700 })
    const second = await seal({ continues: first.body["requestState"], state: "two", ttlSeconds: 86_400 })
    const { operationId, deadline } = first.body
    expect(second).toMatchObject({ status: 200, body: { operationId, deadline, expiresAt: deadline, round: 2 } })
    expect((await open(text(second, "requestState"))).body).toMatchObject({ state: "two", round: 2, operationId })
    expectProblem(await seal({ continues: second.body["requestState"] }), 422, "rounds_exceeded")
  })

  it("refuses a body that does not fit before what it continues", async () => {
    const { body } = await seal({ maxRounds: 1 })
    for (const continues of [body["requestState"], "x"]) {
      const errors = [{ path: "/state" }]
      expectProblem(await seal({ continues, state: "x".repeat(4_095) }), 400, "invalid_body", { errors })
    }
  })

  it("opens as open does", async () => {
    const state = await sealed()
    expect((await seal({ continues: state, principal: "bob" })).body).toMatchObject({ reason: "principal" })
    const request = { ...ALICE.request, target: "x" }
    expectProblem(await seal({ continues: state, request }), 422, "invalid_request_state", { reason: "request" })
  })

  it.each([{ maxRounds: 2 }, { deadlineSeconds: 600 }])("takes no %j", async (member) => {
    expectProblem(await seal({ continues: await sealed(), ...member }), 400, "invalid_body")
  })
})

describe("redeem", () => {
  it("is first once, and tells its own repeat", async () => {
    const state = await sealed()
    const first = await redeem(state, { attemptId: ATTEMPT })
    expect(first).toMatchObject({
      status: 200,
      body: { state: { cost: 40 }, replayed: false, redeemedAt: expect.stringMatching(TIME) },
    })
    const { redeemedAt } = first.body
    const repeat = await redeem(state, { attemptId: ATTEMPT })
    expect(repeat).toMatchObject({ status: 200, body: { ...first.body, replayed: true } })
    for (const other of [{}, { attemptId: `${ATTEMPT}x` }]) {
      expectProblem(await redeem(state, other), 409, "already_redeemed", { redeemedAt })
    }
    expect((await open(state)).status).toBe(200)
  })

  it("spends the operation: all its rounds and branches", async () => {
    const first = await sealed({ maxRounds: 5 })
    const left = await sealed({ continues: first, state: "left" })
    const right = await sealed({ continues: first, state: "right" })
    expect((await redeem(left, { attemptId: ATTEMPT })).status).toBe(200)
    const later = await sealed({ continues: left })
    for (const state of [first, right, later]) expectProblem(await redeem(state), 409, "already_redeemed")
    expectProblem(await redeem(right, { attemptId: ATTEMPT }), 409, "already_redeemed")
  })

  it("has one first of twenty at once", async () => {
    for (const changes of [{}, { attemptId: ATTEMPT }]) {
      const state = await sealed()
      const answers = await Promise.all(Array.from({ length: 20 }, () => redeem(state, changes)))
      expect(answers.filter(({ body }) => body["replayed"] === false)).toHaveLength(1)
      const repeats = answers.filter(({ body }) => body["replayed"] === true)
      expect(repeats).toHaveLength("attemptId" in changes ? 19 : 0)
    }
  })

  it("spends nothing when it is refused", async () => {
    const state = await sealed()
    await redeem(state, { principal: "bob" })
    await redeem(state, { request: { method: "tools/call", target: "x" } })
    await redeem(state, {}, { as: { tenant: "other" } })
    await redeem(state, { attemptId: "short" })
    expect((await redeem(state)).body).toMatchObject({ replayed: false })
  })

  it.each(["short", "with a space 0123456", "ümlaut-0123456789", ""])(
    "refuses the attempt id %j",
    async (attemptId) => {
      expectProblem(await redeem(await sealed(), { attemptId }), 400, "invalid_body")
    },
  )

  it("takes another caller's attempt for another attempt", async () => {
    const state = await sealed()
    await redeem(state, { attemptId: ATTEMPT })
    const other = { as: { principal: "other-server" } }
    expectProblem(await redeem(state, { attemptId: ATTEMPT }, other), 409, "already_redeemed")
  })
})

describe("apart", () => {
  it("are tenants, and one tenant's callers are not", async () => {
    const state = await sealed()
    expectProblem(await open(state, {}, { as: { tenant: "other" } }), 422, "invalid_request_state", {
      reason: "forged",
    })
    expect((await open(state, {}, { as: { principal: "replica-2" } })).status).toBe(200)
  })

  it("are the purposes of /v1 and /mcp", async () => {
    const token = await api.identity.token({ principal: "alice", audience: `${api.worker.url}/mcp` })
    const leg = { token, method: "tools/call", name: "provision_database", arguments: { name: "apart" } }
    const asked = resultOf(await callMcp(`${api.worker.url}/mcp`, leg)).requestState ?? ""
    const whom = JSON.stringify([api.identity.issuer, "alice", null])
    const bound = {
      principal: whom,
      audience: `${api.worker.url}/mcp`,
      request: { method: "tools/call", target: "provision_database", arguments: { name: "apart" } },
    }
    expectProblem(await open(asked, bound), 422, "invalid_request_state", { reason: "forged" })
    const forged = await sealed({ ...bound, state: {} })
    const answers = { region: { action: "accept", content: { region: "eu-west-1" } } }
    const refused = await callMcp(`${api.worker.url}/mcp`, { ...leg, requestState: forged, inputResponses: answers })
    expect(errorOf(refused).code).toBe(-32602)
  })
})

it("logs no state, token, answer or principal", async () => {
  const state = await sealed({ state: "the-secret-of-alice" })
  await redeem(state, { attemptId: ATTEMPT })
  await open(`${state}x`, { principal: "mallory-the-principal" })
  const logs = api.worker.logs()
  expect(logs).toContain('"event":"redeem"')
  for (const secret of [state, "the-secret-of-alice", ATTEMPT, "mallory-the-principal", "alice", await api.token()]) {
    expect(logs).not.toContain(secret)
  }
})
