import { expect, test } from "vitest"
import { LedgerOverloaded, LedgerUnavailable } from "../../src/ledger/index.ts"
import { BOUND, stage } from "./stage.ts"

/** Whatever is asked of it. */
function failing<Ledger extends object>(ledger: Ledger, error: Error): Ledger {
  return new Proxy(ledger, { get: () => () => Promise.reject(error) })
}

function stageWith(error: Error) {
  const { parts } = stage()
  return stage({ ledger: failing(parts.ledger, error), keyedLedger: failing(parts.keyedLedger, error) })
}

const CALLS: [path: string, body: object | undefined, name: string][] = [
  ["/operations/k/begin", { fingerprint: "x" }, "begin"],
  ["/operations/k/complete", { claim: "x", result: 1 }, "complete"],
  ["/operations/k/fail", { claim: "x", error: 1, retryable: true }, "fail"],
  ["/operations/k/renew", { claim: "x", leaseSeconds: 1 }, "renew"],
  ["/operations/k/resolve", { outcome: "rerun" }, "resolve"],
  ["/operations/k", undefined, "read"],
]

test.each([
  ["overloaded", new LedgerOverloaded("The ledger is overloaded; try again in some seconds."), "5"],
  ["out of reach", new LedgerUnavailable("The ledger did not answer; try again in a moment."), "1"],
])("a ledger that is %s: 503 with when to try again, and the operator is told", async (_what, error, seconds) => {
  const { call, events } = stageWith(error)
  const { requestState } = (await call("/seal", { state: 1, ...BOUND })).body
  const calls = [...CALLS, ["/redeem", { requestState, ...BOUND }, "redeem"] as const]
  for (const [path, body] of calls) {
    const answer = await call(path, body)
    expect(answer).toMatchObject({ status: 503, body: { code: "overloaded", retryAfterSeconds: Number(seconds) } })
    expect(answer.headers.get("retry-after")).toBe(seconds)
  }
  expect((await call("/open", { requestState, ...BOUND })).status).toBe(200)
  expect(events).toEqual(calls.map(([, , name]) => ({ event: "fault", name, error: error.name })))
})

test("in a batch, trouble with one call leaves the others alone", async () => {
  const { call, events } = stageWith(new Error("what a dependency says of the-secret"))
  const { requestState } = (await call("/seal", { state: 1, ...BOUND })).body
  const requests = [
    { op: "redeem", requestState, ...BOUND },
    { op: "open", requestState, ...BOUND },
  ]
  const { status, body } = await call("/batch", { requests })
  expect(status).toBe(200)
  expect(body["responses"]).toMatchObject([{ status: 500, body: { code: "internal" } }, { status: 200 }])
  expect(JSON.stringify([body, events])).not.toContain("the-secret")
  expect(events).toEqual([{ event: "fault", name: "redeem", error: "Error" }])
})
