import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Api, type ApiAnswer, type ApiCall, startApi, text } from "../../support/api.ts"

let api: Api

beforeAll(async () => {
  api = await startApi()
})

afterAll(() => api.stop())

let keys = 0
const newKey = () => `order-${++keys}`
const ATTEMPT = "attempt-0123456789"
const INPUT = { fingerprint: "three of A-113" }

type Verb = "begin" | "complete" | "fail" | "renew" | "resolve"

const send = (key: string, verb: Verb, body: object, options?: ApiCall) =>
  api.call(`/v1/operations/${encodeURIComponent(key)}/${verb}`, body, options)
const begin = (key: string, changes: object = {}, options?: ApiCall) =>
  send(key, "begin", { ...INPUT, ...changes }, options)
const read = (key: string, query = "", options?: ApiCall) =>
  api.call(`/v1/operations/${encodeURIComponent(key)}${query}`, undefined, options)

async function begun(key: string, changes: object = {}, options?: ApiCall): Promise<string> {
  const answer = await begin(key, changes, options)
  expect(answer.status).toBe(201)
  return text(answer, "claim")
}

function expectProblem(answer: ApiAnswer, status: number, code: string, members: object = {}): void {
  expect(answer).toMatchObject({ status, body: { status, code, ...members } })
}

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const COMPLETED = { status: "completed", completedAt: TIME, expiresAt: TIME }

describe("an operation", () => {
  it("begins, is told apart while it runs, and replays its result", async () => {
    const key = newKey()
    const before = Date.now()
    const first = await begin(key)
    expect(first).toMatchObject({
      status: 201,
      body: { status: "running", attempt: 1, claim: expect.stringMatching(/^[\w-]+$/), leaseEndsAt: TIME },
    })
    const lease = Date.parse(text(first, "leaseEndsAt")) - before
    expect(Math.abs(lease - 30_000)).toBeLessThan(5_000)
    const { leaseEndsAt } = first.body

    const second = await begin(key)
    expectProblem(second, 409, "operation_in_progress", { leaseEndsAt })
    // Sooner than the lease ends: most attempts end before theirs do.
    expect(second.headers.get("retry-after")).toBe("5")
    expect((await read(key)).body).toEqual({ status: "running", attempt: 1, leaseEndsAt })

    const claim = text(first, "claim")
    const result = { invoice: "R-7", lines: [1, null, "ü"] }
    const completed = await send(key, "complete", { claim, result })
    expect(completed).toMatchObject({ status: 200, body: { ...COMPLETED, result, replayed: false } })
    expect(await send(key, "complete", { claim, result: "another" })).toMatchObject({
      status: 200,
      body: completed.body,
    })

    const replay = await begin(key)
    expect(replay).toMatchObject({ status: 200, body: { ...completed.body, replayed: true } })
    expect((await read(key)).body).toEqual({ ...replay.body, attempt: 1 })
  })

  it.each([null, false, 0, "", [], {}])("keeps the result %j", async (result) => {
    const key = newKey()
    await send(key, "complete", { claim: await begun(key), result })
    expect((await begin(key)).body["result"]).toEqual(result)
  })

  it("fails for good", async () => {
    const key = newKey()
    const claim = await begun(key)
    const error = { message: "out of stock" }
    const failed = { status: "failed", error, retryable: false, failedAt: TIME, expiresAt: TIME }
    const answer = await send(key, "fail", { claim, error, retryable: false })
    expect(answer).toMatchObject({ status: 200, body: failed })
    expect(await begin(key)).toMatchObject({ status: 200, body: { ...failed, replayed: true } })
    expect((await read(key)).body).toMatchObject({ ...failed, attempt: 1 })
    expectProblem(await send(key, "complete", { claim, result: 1 }), 409, "stale_claim")
  })

  it("fails so that the next begin runs", async () => {
    const key = newKey()
    const claim = await begun(key)
    const answer = await send(key, "fail", { claim, error: "busy", retryable: true })
    expect(answer).toMatchObject({ status: 200, body: { status: "failed", error: "busy", retryable: true } })
    expect((await read(key)).body).toMatchObject({ status: "failed", errorOmitted: true, retryable: true, attempt: 1 })
    expect(await begin(key)).toMatchObject({ status: 201, body: { attempt: 2 } })
    expectProblem(await send(key, "complete", { claim, result: 1 }), 409, "stale_claim")
  })

  it("is renewed while its lease lasts", async () => {
    const key = newKey()
    const claim = await begun(key, { leaseSeconds: 1 })
    const renewed = await send(key, "renew", { claim, leaseSeconds: 2 })
    expect(renewed).toMatchObject({ status: 200, body: { leaseEndsAt: TIME } })
    await sleep(1_100)
    expectProblem(await begin(key), 409, "operation_in_progress")
    await sleep(1_100)
    expectProblem(await send(key, "renew", { claim, leaseSeconds: 2 }), 409, "stale_claim")
  })

  it("gives the same attempt the same claim", async () => {
    const key = newKey()
    const attempt = { attemptId: ATTEMPT }
    const claim = await begun(key, attempt)
    expect(await begin(key, attempt)).toMatchObject({ status: 201, body: { claim, attempt: 1 } })
    expectProblem(await begin(key, { attemptId: `${ATTEMPT}x` }), 409, "operation_in_progress")
  })

  it("lets others wait for its outcome", async () => {
    const key = newKey()
    const claim = await begun(key)
    const waiting = begin(key, { waitSeconds: 20 })
    await sleep(300)
    await send(key, "complete", { claim, result: "done" })
    expect(await waiting).toMatchObject({ status: 200, body: { result: "done", replayed: true } })
    const other = newKey()
    await begun(other)
    const since = Date.now()
    expectProblem(await begin(other, { waitSeconds: 1 }), 409, "operation_in_progress")
    expect(Date.now() - since).toBeGreaterThan(900)
  })

  it("is the same for a request, however it is spelled", async () => {
    const key = newKey()
    const request = { method: "tools/call", target: "pay", arguments: { amount: 1, to: { b: 1, a: 2 } } }
    const begin = (request: object) => send(key, "begin", { request })
    expect((await begin(request)).status).toBe(201)
    const spelled = { target: "pay", method: "tools/call", arguments: { to: { a: 2, b: 1 }, amount: 1.0 } }
    expectProblem(await begin(spelled), 409, "operation_in_progress")
    expectProblem(await begin({ ...request, arguments: { amount: 2 } }), 422, "operation_mismatch")
    expectProblem(await begin({ ...request, target: "refund" }), 422, "operation_mismatch")
    expectProblem(await send(key, "begin", { fingerprint: "pay" }), 422, "operation_mismatch")
    expectProblem(await begin({ ...request, arguments: { a: 2 ** 53 } }), 400, "invalid_body")
  })
})

describe("another input", () => {
  it("is a mismatch while it runs and afterwards, never the first one's answer", async () => {
    const key = newKey()
    const claim = await begun(key)
    expectProblem(await begin(key, { fingerprint: "other" }), 422, "operation_mismatch")
    await send(key, "complete", { claim, result: "first" })
    const answer = await begin(key, { fingerprint: "other" })
    expectProblem(answer, 422, "operation_mismatch")
    expect(JSON.stringify(answer.body)).not.toContain("first")
  })
})

describe("an attempt that vanished", () => {
  it("leaves its outcome unknown, and its owner or resolve says what it was", async () => {
    const [late, completed, failed, rerun, nothing] = [newKey(), newKey(), newKey(), newKey(), newKey()]
    const all = [late, completed, failed, rerun, nothing]
    const [claim] = await Promise.all(all.map((key) => begun(key, { leaseSeconds: 1 })))
    for (const key of all) expectProblem(await send(key, "resolve", { outcome: "rerun" }), 409, "not_unknown")
    await sleep(1_100)
    for (const key of all) {
      expectProblem(await begin(key), 409, "operation_outcome_unknown")
      expect((await read(key)).body).toMatchObject({ status: "outcome_unknown", attempt: 1 })
    }
    expect((await send(late, "complete", { claim, result: "late" })).status).toBe(200)
    expect((await begin(late)).body).toMatchObject({ result: "late" })

    const settled = await send(completed, "resolve", { outcome: "completed", result: "seen" })
    expect(settled).toMatchObject({ status: 200, body: { ...COMPLETED, result: "seen" } })
    expect((await begin(completed)).body).toMatchObject({ result: "seen", replayed: true })
    expectProblem(await send(completed, "resolve", { outcome: "failed" }), 409, "not_unknown")

    expect((await send(failed, "resolve", { outcome: "failed", error: "gone" })).body).toMatchObject({ error: "gone" })
    expect((await begin(failed)).body).toMatchObject({ status: "failed", error: "gone", retryable: false })

    expect((await send(nothing, "resolve", { outcome: "completed" })).body).toMatchObject({ resultOmitted: true })
    expect((await begin(nothing)).body).toMatchObject({ status: "completed", resultOmitted: true })

    expect((await send(rerun, "resolve", { outcome: "rerun" })).body).toMatchObject({
      status: "failed",
      retryable: true,
    })
    expect(await begin(rerun)).toMatchObject({ status: 201, body: { attempt: 2 } })
  })

  it("under rerun has a new owner, and can say nothing more", async () => {
    const key = newKey()
    const claim = await begun(key, { leaseSeconds: 1, onLeaseEnd: "rerun" })
    expectProblem(await begin(key), 409, "operation_in_progress")
    await sleep(1_100)
    const second = await begin(key, { onLeaseEnd: "report" })
    expect(second).toMatchObject({ status: 201, body: { attempt: 2 } })
    for (const verb of ["complete", "fail", "renew"] as const) {
      const body = { complete: { result: 1 }, fail: { error: 1, retryable: true }, renew: { leaseSeconds: 9 } }[verb]
      expectProblem(await send(key, verb, { claim, ...body }), 409, "stale_claim")
    }
  })

  it("is not left stuck by a caller that hangs up", async () => {
    const key = newKey()
    const hold = await begun(key, { attemptId: `${ATTEMPT}-holder` })
    const gone = begin(key, { attemptId: ATTEMPT, waitSeconds: 20 }, { signal: AbortSignal.timeout(50) })
    await expect(gone).rejects.toThrow()
    await send(key, "fail", { claim: hold, error: "busy", retryable: true })
    const again = await begin(key, { attemptId: ATTEMPT, waitSeconds: 20 })
    expect(again.status).toBe(201)
    await send(key, "complete", { claim: again.body["claim"], result: "once" })
    expect((await begin(key)).body).toMatchObject({ result: "once" })
  })
})

describe("of twenty at once", () => {
  it("one begin runs, and the others are told", async () => {
    const key = newKey()
    const answers = await Promise.all(Array.from({ length: 20 }, () => begin(key)))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(19)
  })
})

describe("apart", () => {
  it("are tenants, callers, clients and principals with the same key", async () => {
    const key = newKey()
    const claim = await begun(key)
    await send(key, "complete", { claim, result: "mine" })
    const others: [object, ApiCall][] = [
      [{}, { as: { tenant: "other" } }],
      [{}, { as: { principal: "other-server" } }],
      [{}, { as: { client: "cli" } }],
      [{ principal: "alice" }, {}],
      [{ principal: "bob" }, {}],
    ]
    for (const [changes, options] of others) {
      const query = "principal" in changes ? `?principal=${changes.principal}` : ""
      expectProblem(await read(key, query, options), 404, "unknown_operation")
      expect((await begin(key, { fingerprint: "theirs", ...changes }, options)).status).toBe(201)
      expectProblem(await send(key, "complete", { claim, result: "x", ...changes }, options), 409, "stale_claim")
    }
    expect((await read(key)).body).toMatchObject({ result: "mine" })
    expect((await read(key, "?principal=alice")).body).toMatchObject({ status: "running" })
  })

  it("are operations with the same claim", async () => {
    const [one, other] = [newKey(), newKey()]
    const claim = await begun(one)
    await begun(other)
    expectProblem(await send(other, "complete", { claim, result: 1 }), 409, "stale_claim")
  })
})

describe("keys", () => {
  const raw = (key: string) => api.call(`/v1/operations/${key}/begin`, INPUT)

  it.each(["", "%20", "%00", "%0A", "%C3%BC", "a%20b", "%", "%zz", "%FF", "a".repeat(256), "k".repeat(3_072), "ü"])(
    "refuses no. %#",
    async (key) => {
      expectProblem(await raw(key), 400, "invalid_parameter", { errors: [{ path: "/key" }] })
    },
  )

  it.each(["!", "a/b?c#d%e", "a".repeat(255), "~", "…".replace("…", "'\"<>&")])("takes no. %#", async (key) => {
    expect((await begin(key)).status).toBe(201)
    expect((await read(key)).status).toBe(200)
  })

  it("takes a principal in any spelling", async () => {
    const key = newKey()
    await begun(key, { principal: "a+b &=%é" })
    for (const query of ["?principal=a%2Bb+%26%3D%25%C3%A9", "?x&%70rincipal=a%2bb%20%26=%25é&y=%ED%A0%80"]) {
      expect((await read(key, query)).status).toBe(200)
    }
  })

  const NOT_UTF8 = ["?principal=%ED%A0%80", "?principal=%FF", "?principal=a%"]

  it("refuses a principal that is no name", async () => {
    for (const query of ["?principal=", "?principal=a&principal=b", `?principal=${"x".repeat(513)}`, ...NOT_UTF8]) {
      expectProblem(await read("k", query), 400, "invalid_parameter", { errors: [{ path: "/principal" }] })
    }
  })
})

describe("bodies", () => {
  it.each<[Verb, object]>([
    ["begin", {}],
    ["begin", { fingerprint: "x", request: { method: "a", target: "b" } }],
    ["begin", { fingerprint: "" }],
    ["begin", { fingerprint: "x", leaseSeconds: 0 }],
    ["begin", { fingerprint: "x", leaseSeconds: 901 }],
    ["begin", { fingerprint: "x", retentionSeconds: 59 }],
    ["begin", { fingerprint: "x", retentionSeconds: 2_592_001 }],
    ["begin", { fingerprint: "x", waitSeconds: 26 }],
    ["begin", { fingerprint: "x", onLeaseEnd: "forget" }],
    ["begin", { fingerprint: "x", attemptId: "short" }],
    ["begin", { fingerprint: "x", surprise: 1 }],
    ["complete", { claim: "x" }],
    ["complete", { result: 1 }],
    ["complete", { claim: "x", result: 1, resultOmitted: true }],
    ["complete", { claim: "x", resultOmitted: false }],
    ["fail", { claim: "x", retryable: false }],
    ["fail", { claim: "x", error: 1, errorOmitted: true, retryable: false }],
    ["fail", { claim: "x", error: 1 }],
    ["fail", { claim: "x", error: 1, retryable: "yes" }],
    ["renew", { claim: "x", leaseSeconds: 0 }],
    ["renew", { claim: "x" }],
    ["resolve", {}],
    ["resolve", { outcome: "completed", error: 1 }],
    ["resolve", { outcome: "rerun", result: 1 }],
  ])("%s refuses %j", async (verb, body) => {
    expectProblem(await send(newKey(), verb, body), 400, "invalid_body", { errors: expect.any(Array) })
  })

  it.each<[Verb, string]>([
    ["complete", '{"claim":"x","result":1e400}'],
    ["complete", '{"claim":"x","result":{"lines":[0,{"total":-1e400}]}}'],
    ["fail", '{"claim":"x","error":[1e400],"retryable":true}'],
    ["resolve", '{"outcome":"completed","result":1e400}'],
    ["resolve", '{"outcome":"failed","error":1e400}'],
  ])("%s refuses numbers that are none here: %s", async (verb, raw) => {
    const answer = await api.call(`/v1/operations/k/${verb}`, undefined, { raw })
    const path = raw.includes("result") ? "/result" : "/error"
    const errors = [{ path, message: "has a number beyond the range of double precision" }]
    expectProblem(answer, 400, "invalid_body", { errors })
  })

  it.each(["", "x", "AAAA", "!!", "A".repeat(27)])("the claim %j is stale", async (claim) => {
    const key = newKey()
    expectProblem(await send(key, "complete", { claim, result: 1 }), 409, "stale_claim")
    await begun(key)
    expectProblem(await send(key, "complete", { claim, result: 1 }), 409, "stale_claim")
  })

  it("never begun: 404", async () => {
    expectProblem(await read(newKey()), 404, "unknown_operation")
  })
})

describe("results", () => {
  it("of exactly 1 MiB are kept", async () => {
    const key = newKey()
    const result = "x".repeat(1_048_574)
    expect((await send(key, "complete", { claim: await begun(key), result })).status).toBe(200)
    expect((await begin(key)).body["result"]).toBe(result)
  })

  it("that are larger are not, and what has run never runs again", async () => {
    const result = "x".repeat(1_048_575)
    const key = newKey()
    const claim = await begun(key)
    for (let time = 0; time < 2; time++) {
      expectProblem(await send(key, "complete", { claim, result }), 413, "result_too_large")
    }
    expect(await begin(key)).toMatchObject({ status: 200, body: { ...COMPLETED, resultOmitted: true, replayed: true } })
    expectProblem(await send(key, "complete", { claim: "AAAA", result }), 409, "stale_claim")
    const kept = newKey()
    const owner = await begun(kept)
    const first = await send(kept, "complete", { claim: owner, result: "small" })
    expect(await send(kept, "complete", { claim: owner, result })).toMatchObject({ status: 200, body: first.body })
    const failing = newKey()
    const answer = await send(failing, "fail", { claim: await begun(failing), error: result, retryable: false })
    expectProblem(answer, 413, "result_too_large")
    expect((await begin(failing)).body).toMatchObject({ status: "failed", errorOmitted: true, retryable: false })
  })

  it("may be left out, and what has run never runs again", async () => {
    const [key, failing] = [newKey(), newKey()]
    const claim = await begun(key, { onLeaseEnd: "rerun" })
    const omitted = { claim, resultOmitted: true }
    const completed = await send(key, "complete", omitted)
    expect(completed).toMatchObject({ status: 200, body: { ...COMPLETED, resultOmitted: true, replayed: false } })
    expect(await send(key, "complete", omitted)).toMatchObject({ status: 200, body: completed.body })
    expect((await begin(key)).body).toEqual({ ...completed.body, replayed: true })
    const failed = { claim: await begun(failing), errorOmitted: true, retryable: false }
    expect((await send(failing, "fail", failed)).body).toMatchObject({ status: "failed", errorOmitted: true })
    expect((await begin(failing)).body).toMatchObject({ status: "failed", errorOmitted: true, retryable: false })
  })
})

it("survives a restart, and reads as omitted once its key has left the ring", async () => {
  const storage = await mkdtemp(join(tmpdir(), "waxseal-"))
  const first = await startApi({ storage })
  const { port } = first.worker
  const begin = (one: Api) => one.call("/v1/operations/kept/begin", INPUT, { as: { principal: "server" } })
  const claim = text(await begin(first), "claim")
  const sealed = { state: 1, principal: "alice", request: { method: "a", target: "b" } }
  const spent = text(await first.call("/v1/seal", sealed), "requestState")
  const { state: _, ...bound } = sealed
  const redeem = { requestState: spent, ...bound }
  expect((await first.call("/v1/redeem", redeem)).status).toBe(200)
  await first.call("/v1/operations/kept/complete", { claim, result: "kept" })
  await first.worker.kill()

  const second = await startApi({ storage, port, bindings: first.identity.bindings })
  const as = async () => ({ headers: { authorization: `Bearer ${await first.token()}` }, as: null })
  expectProblem(await second.call("/v1/redeem", redeem, await as()), 409, "already_redeemed")
  expect((await second.call("/v1/operations/kept/begin", INPUT, await as())).body).toMatchObject({ result: "kept" })
  await second.stop()

  const { SEAL_KEYS: _keys, ...settings } = first.identity.bindings
  const third = await startApi({ storage, port, bindings: settings })
  const answer = await third.call("/v1/operations/kept/begin", INPUT, await as())
  expect(answer).toMatchObject({ status: 200, body: { ...COMPLETED, resultOmitted: true } })
  await third.stop()
  await rm(storage, { recursive: true, force: true })
})

it("logs neither keys, claims, results nor principals", async () => {
  const key = "secret-key-of-a-caller"
  const claim = await begun(key, { principal: "mallory" })
  await send(key, "complete", { claim, result: "secret-result", principal: "mallory" })
  const logs = api.worker.logs()
  expect(logs).toContain('"event":"keyed_operation"')
  for (const secret of [key, claim, "secret-result", "mallory"]) expect(logs).not.toContain(secret)
})
