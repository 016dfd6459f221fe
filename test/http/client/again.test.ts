// Calls that fail on their way: which are made again, how soon, for how long, and that nothing is done twice.
import { once } from "node:events"
import { createServer } from "node:http"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Fate, FlakyProxy } from "../../support/flaky-proxy.ts"
import { freePort } from "../../support/port.ts"
import { BOUND, expectCode, type Stage, setStage } from "./stage.ts"

let stage: Stage

beforeAll(async () => {
  stage = await setStage()
})

afterAll(() => stage.stop())

const INPUT = { fingerprint: "three of A-113" }
const FAULTS: [string, Fate][] = [
  ["the answer is lost", "lose the answer"],
  ["the connection is cut", "cut"],
  ["nothing comes back", "hang"],
  ["a proxy answers 502 in HTML", { status: 502, body: "<h1>Bad gateway</h1>" }],
  ["it is overloaded", problem(503, "overloaded", { "retry-after": "0" })],
  ["it has an internal error", problem(500, "internal")],
  ["there are too many calls", problem(429, "rate_limited", { "retry-after": "0" })],
]

let keys = 0
const newKey = () => `again-${++keys}`
const attemptIds = ({ seen }: FlakyProxy) => new Set(seen.map(({ body }) => JSON.parse(body).attemptId))

function problem(status: number, code: string, headers: Readonly<Record<string, string>> = {}): Fate {
  const body = JSON.stringify({ type: "about:blank", title: "T", status, detail: "D.", code })
  return { status, headers: { "content-type": "application/problem+json", ...headers }, body }
}

async function sealed(): Promise<string> {
  return (await stage.client.seal({ ...BOUND, state: 1 })).requestState
}

async function claimOf(key: string): Promise<string> {
  const begun = await stage.client.operations.begin(key, INPUT)
  if (begun.status !== "running") throw new Error(begun.status)
  return begun.claim
}

describe.each(FAULTS)("when %s", { concurrent: true }, (_, fate) => {
  it("a redemption is the same attempt, and is one's own", async () => {
    const { proxy, flaky } = await stage.network()
    const requestState = await sealed()
    proxy.fates(fate, fate)
    expect(await flaky.redeem({ ...BOUND, requestState })).toMatchObject({ replayed: false })
    expect(proxy.seen).toHaveLength(3)
    expect(attemptIds(proxy).size).toBe(1)
    await expectCode(stage.client.redeem({ ...BOUND, requestState }), "already_redeemed")
  })

  it("a begin is the same attempt, with the same claim", async () => {
    const { proxy, flaky } = await stage.network()
    const key = newKey()
    proxy.fates(fate)
    expect(await flaky.operations.begin(key, INPUT)).toMatchObject({ status: "running", attempt: 1 })
    expect(attemptIds(proxy).size).toBe(1)
  })

  it("an outcome is recorded once", async () => {
    const { proxy, flaky } = await stage.network()
    const [key, failing] = [newKey(), newKey()]
    const claim = await claimOf(key)
    proxy.fates(fate)
    await flaky.operations.renew(key, { claim, leaseSeconds: 60 })
    proxy.fates(fate)
    expect(await flaky.operations.complete(key, { claim, result: 1 })).toMatchObject({ result: 1 })
    proxy.fates(fate)
    const failed = { claim: await claimOf(failing), error: "busy", retryable: true }
    expect(await flaky.operations.fail(failing, failed)).toMatchObject({ retryable: true })
  })

  it("what is pure is asked again", async () => {
    const { proxy, flaky } = await stage.network()
    proxy.fates(fate)
    const { requestState } = await flaky.seal({ ...BOUND, state: 1 })
    proxy.fates(fate)
    await flaky.open({ ...BOUND, requestState })
    proxy.fates(fate)
    await flaky.keys()
    proxy.fates(fate)
    const [redeemed] = await flaky.batch([{ op: "redeem", ...BOUND, requestState }])
    expect(redeemed).toMatchObject({ ok: true, value: { replayed: false } })
  })
})

it("with an attempt id of one's own, a redemption says that this attempt had redeemed before", async () => {
  const requestState = await sealed()
  stage.proxy.fates("lose the answer")
  const redeemed = await stage.flaky.redeem({ ...BOUND, requestState, attemptId: "attempt-0123456789" })
  expect(redeemed.replayed).toBe(true)
})

describe("a resolution is not made again", () => {
  it.each<[string, Fate, string]>([
    ["when its answer is lost", "lose the answer", "unreachable"],
    ["when there was a fault", problem(500, "internal"), "internal"],
  ])("%s", async (_, fate, code) => {
    stage.proxy.fates(fate)
    await expectCode(stage.flaky.operations.resolve(newKey(), { outcome: "rerun" }), code)
    expect(stage.proxy.seen).toHaveLength(1)
  })

  it("but where the API says that it did nothing", async () => {
    stage.proxy.fates(problem(429, "rate_limited", { "retry-after": "0" }))
    await expectCode(stage.flaky.operations.resolve(newKey(), { outcome: "rerun" }), "not_unknown")
    expect(stage.proxy.seen).toHaveLength(2)
  })
})

describe("what cannot pass is told at once", () => {
  it.each<[string, Fate, string]>([
    ["wrong settings", problem(503, "misconfigured"), "misconfigured"],
    ["a success in HTML", { status: 200, body: "<h1>Hello</h1>" }, "unexpected_answer"],
    ["a success of another kind", { status: 200, body: "{}" }, "unexpected_answer"],
    ["a problem of another kind", { status: 409, body: '{"code":"surprise","detail":"D."}' }, "unexpected_answer"],
    ["a redirection", { status: 307, headers: { location: "http://localhost:1/" } }, "unexpected_answer"],
  ])("%s", async (_, fate, code) => {
    stage.proxy.fates(fate)
    await expectCode(stage.flaky.keys(), code)
    expect(stage.proxy.seen).toHaveLength(1)
  })
})

describe.concurrent("Retry-After", () => {
  it("is waited for", async () => {
    const { proxy, flaky } = await stage.network()
    proxy.fates(problem(429, "rate_limited", { "retry-after": "1" }))
    await flaky.keys({ timeoutMs: 5_000 })
    const [first, second] = proxy.seen
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(990)
  })

  it("may be a date", async () => {
    const { proxy, flaky } = await stage.network()
    const inTwoSeconds = new Date(Date.now() + 2_000).toUTCString()
    proxy.fates({ status: 503, headers: { "retry-after": inTwoSeconds } })
    await flaky.keys({ timeoutMs: 5_000 })
    const [first, second] = proxy.seen
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(500)
  })

  it("is told, and not waited for, where the call may not take so long", async () => {
    const { proxy, flaky } = await stage.network()
    proxy.fates(problem(429, "rate_limited", { "retry-after": "10" }))
    const before = performance.now()
    await expectCode(flaky.keys({ timeoutMs: 2_000 }), "rate_limited", { status: 429, retryAfterSeconds: 10 })
    expect(performance.now() - before).toBeLessThan(1_000)
  })
})

describe.concurrent("time", () => {
  it("is up for a call that gets no answer", async () => {
    const { proxy, flaky } = await stage.network()
    proxy.fates("hang", "hang", "hang", "hang")
    const before = performance.now()
    await expectCode(flaky.keys({ timeoutMs: 300 }), "timed_out", { status: undefined })
    expect(performance.now() - before).toBeLessThan(1_000)
  })

  it("is up for a token that does not come", async () => {
    const client = stage.clientWith({ token: () => new Promise(() => undefined), timeoutMs: 300 })
    await expectCode(client.keys(), "timed_out")
  })

  it("bounds how often a call is made again", async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    const before = performance.now()
    await expectCode(stage.clientWith({ url, timeoutMs: 1_000 }).keys(), "unreachable")
    expect(performance.now() - before).toBeLessThan(1_500)
  })

  it("leaves room for what waits on purpose", async () => {
    const key = newKey()
    await claimOf(key)
    const patient = stage.client.operations.begin(key, { ...INPUT, waitSeconds: 2 }, { timeoutMs: 1_500 })
    await expectCode(patient, "operation_in_progress")
  })
})

describe("a call that is aborted", () => {
  it("rejects with the signal's own reason", async () => {
    const reason = new Error("the person left")
    await expect(stage.client.keys({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    for (const fate of ["hang", problem(503, "overloaded", { "retry-after": "1" })] as const) {
      stage.proxy.fates(fate, fate)
      const controller = new AbortController()
      const call = stage.flaky.keys({ signal: controller.signal, timeoutMs: 5_000 })
      setTimeout(() => controller.abort(reason), 200)
      await expect(call).rejects.toBe(reason)
    }
  })
})

it("the token is asked for before each request, and goes nowhere else", async () => {
  const elsewhere = createServer((_, response) => response.end()).listen(0, "127.0.0.1")
  await once(elsewhere, "listening")
  let visits = 0
  elsewhere.on("request", () => {
    visits += 1
  })
  const address = elsewhere.address()
  if (address === null || typeof address === "string") throw new Error("no port")
  let asked = 0
  const client = stage.clientWith({
    url: `${stage.proxy.url}/`,
    token: () => {
      asked += 1
      return stage.api.token()
    },
  })
  stage.proxy.fates("cut", { status: 308, headers: { location: `http://127.0.0.1:${address.port}/v1/keys` } })
  await expectCode(client.keys(), "unexpected_answer", { status: 308 })
  expect([asked, visits]).toEqual([2, 0])
  elsewhere.close()
})
