import { expect, test } from "vitest"
import { HOUR, MINUTE, START, setClock } from "../ledger/support.ts"
import { NOW } from "../seal/support.ts"
import { BOUND, stage } from "./stage.ts"

const DAY = 24 * HOUR

test.each([
  ["before 2038", Date.parse("2038-01-19T03:14:07Z") - DAY / 2],
  ["before 2106", Date.parse("2106-02-07T06:28:15Z") - DAY / 2],
])("a life that goes on past a round number of seconds is honoured exactly, %s", async (_when, start) => {
  let now = start
  const { call } = stage({ now: () => now })
  const sealed = await call("/seal", { state: 1, ...BOUND, ttlSeconds: 86_400 })
  expect(sealed.body).toMatchObject({ expiresAt: new Date(start + DAY).toISOString() })
  const { requestState } = sealed.body
  now = start + DAY - 1
  expect((await call("/open", { requestState, ...BOUND })).status).toBe(200)
  now = start + DAY
  expect((await call("/open", { requestState, ...BOUND })).body).toMatchObject({ reason: "expired" })
})

test("a state that continues another never outlives the deadline", async () => {
  let now = NOW
  const { call } = stage({ now: () => now })
  const first = await call("/seal", { state: 1, ...BOUND, deadlineSeconds: 600 })
  now = NOW + 299_999
  const second = await call("/seal", { state: 2, ...BOUND, continues: first.body["requestState"], ttlSeconds: 86_400 })
  expect(second.body).toMatchObject({ round: 2, expiresAt: first.body["deadline"], deadline: first.body["deadline"] })
  now = NOW + 600_000
  const third = await call("/seal", { state: 3, ...BOUND, continues: second.body["requestState"] })
  expect(third).toMatchObject({ status: 422, body: { code: "invalid_request_state", reason: "expired" } })
})

test("a replica whose clock is behind continues what another began, to the longest deadline", async () => {
  let now = NOW
  const { call } = stage({ now: () => now })
  const first = await call("/seal", { state: 1, ...BOUND, deadlineSeconds: 86_400 })
  now = NOW - 50_000
  const second = await call("/seal", { state: 2, ...BOUND, continues: first.body["requestState"] })
  expect(second).toMatchObject({
    status: 200,
    body: { issuedAt: first.body["issuedAt"], deadline: first.body["deadline"] },
  })
})

test("by the ledger's clock a redemption can be late: nothing is spent", async () => {
  const start = START
  setClock(start)
  const { call } = stage({ now: () => start })
  const { requestState } = (await call("/seal", { state: 1, ...BOUND, ttlSeconds: 60, deadlineSeconds: 60 })).body
  setClock(start + MINUTE + 1)
  const late = await call("/redeem", { requestState, ...BOUND })
  expect(late).toMatchObject({ status: 422, body: { code: "invalid_request_state", reason: "expired" } })
})

test("a record past its time is over, though nothing has swept it", async () => {
  setClock(START)
  const { call } = stage()
  const begin = { fingerprint: "first", retentionSeconds: 60 }
  const { claim } = (await call("/operations/k/begin", begin)).body
  await call("/operations/k/complete", { claim, result: "kept" })
  setClock(START + MINUTE - 1)
  expect((await call("/operations/k/begin", begin)).body).toMatchObject({ result: "kept" })
  setClock(START + MINUTE)
  expect((await call("/operations/k")).status).toBe(404)
  expect((await call("/operations/k/complete", { claim, result: "again" })).status).toBe(409)
  expect((await call("/operations/k/begin", { fingerprint: "another" })).status).toBe(201)
})

test("an attempt whose lease is over reads as lapsed under rerun, and as unknown under report", async () => {
  let now = START
  setClock(now)
  const { call } = stage({ now: () => now })
  for (const onLeaseEnd of ["rerun", "report"]) {
    await call(`/operations/lapsed-${onLeaseEnd}/begin`, { fingerprint: "x", leaseSeconds: 10, onLeaseEnd })
  }
  const leaseEndsAt = new Date(START + 10_000).toISOString()
  const running = { status: "running", attempt: 1, leaseEndsAt }
  now = START + 9_999
  setClock(now)
  expect((await call("/operations/lapsed-rerun")).body).toEqual(running)
  now = START + 10_000
  setClock(now)
  expect((await call("/operations/lapsed-rerun")).body).toEqual({ ...running, lapsed: true })
  expect((await call("/operations/lapsed-report")).body).toEqual({ ...running, status: "outcome_unknown" })
})

test("retention and policy are those of the first begin", async () => {
  setClock(START)
  const { call } = stage()
  await call("/operations/kept/begin", {
    fingerprint: "x",
    leaseSeconds: 10,
    retentionSeconds: 120,
    onLeaseEnd: "rerun",
  })
  setClock(START + 10_000)
  const second = { fingerprint: "x", leaseSeconds: 10, retentionSeconds: 60, onLeaseEnd: "report" }
  const { claim } = (await call("/operations/kept/begin", second)).body
  const { body } = await call("/operations/kept/complete", { claim, result: 1 })
  expect(body).toMatchObject({ expiresAt: new Date(START + 130_000).toISOString() })
})
