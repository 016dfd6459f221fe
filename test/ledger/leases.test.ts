import { beforeEach, expect, test } from "vitest"
import {
  attempt,
  claimOf,
  fenceOf,
  freshObject,
  type LedgerObject,
  MINUTE,
  OTHER_INPUT,
  rowKey,
  START,
  setClock,
  settlement,
} from "./support.ts"

const LEASE_ENDS_AT = START + 30_000
let object: LedgerObject

beforeEach(() => {
  setClock(START)
  object = freshObject()
})

test("the lease lasts as long as asked, to the millisecond", async () => {
  const key = rowKey()
  expect(await object.claim(key, attempt())).toMatchObject({ status: "claimed", leaseEndsAt: LEASE_ENDS_AT })
  setClock(LEASE_ENDS_AT - 1)
  expect(await object.lookup(key, OTHER_INPUT)).toMatchObject({ status: "running", leaseEndsAt: LEASE_ENDS_AT })
  setClock(LEASE_ENDS_AT)
  expect(await object.lookup(key, OTHER_INPUT)).toMatchObject({ status: "unknown", leaseEndsAt: LEASE_ENDS_AT })
})

test("report: after the lease nobody claims, not even the same attempt or one that asks for reruns", async () => {
  const key = rowKey()
  const mine = attempt()
  await object.claim(key, mine)
  setClock(LEASE_ENDS_AT)
  const unknown = { status: "unknown", sameInput: true, leaseEndsAt: LEASE_ENDS_AT }
  expect(await object.claim(key, mine)).toEqual(unknown)
  expect(await object.claim(key, attempt({ onLeaseEnd: "rerun" }))).toEqual(unknown)
  expect(await object.settle(key, settlement())).toEqual({ ...unknown, sameInput: false })
})

test("report: a late owner settles the unknown outcome", async () => {
  const [recorded, released] = [rowKey(), rowKey()]
  const recording = claimOf(await object.claim(recorded, attempt()))
  const releasing = claimOf(await object.claim(released, attempt()))
  setClock(LEASE_ENDS_AT + MINUTE)
  expect(await object.record(recorded, recording, "completed")).toEqual({ status: "done" })
  expect(await object.claim(recorded, attempt())).toMatchObject({ status: "recorded", outcome: "completed" })
  expect(await object.release(released, releasing)).toEqual({ status: "done" })
  expect((await object.claim(released, attempt())).status).toBe("claimed")
})

test("rerun: after the lease one attempt with the same input claims, with the next fence", async () => {
  const key = rowKey()
  const stale = claimOf(await object.claim(key, attempt({ onLeaseEnd: "rerun" })))
  setClock(LEASE_ENDS_AT - 1)
  expect((await object.claim(key, attempt({ onLeaseEnd: "rerun" }))).status).toBe("running")

  setClock(LEASE_ENDS_AT)
  const other = await object.claim(key, attempt({ onLeaseEnd: "rerun", fingerprint: OTHER_INPUT }))
  expect(other).toEqual({ status: "running", sameInput: false, leaseEndsAt: LEASE_ENDS_AT })
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => object.claim(key, attempt({ onLeaseEnd: "rerun" }))),
  )
  const current = answers.flatMap((answer) => (answer.status === "claimed" ? [answer.claim] : []))
  expect(current.map(fenceOf)).toEqual([fenceOf(stale) + 1])

  expect(await object.record(key, stale, "completed")).toEqual({ status: "superseded" })
  expect(await object.release(key, stale)).toEqual({ status: "superseded" })
  expect(await object.lookup(key, OTHER_INPUT)).toMatchObject({ status: "running" })
})

test("rerun: a late owner that nobody has superseded still records", async () => {
  const key = rowKey()
  const claim = claimOf(await object.claim(key, attempt({ onLeaseEnd: "rerun" })))
  setClock(LEASE_ENDS_AT + MINUTE)
  expect(await object.record(key, claim, "completed")).toEqual({ status: "done" })
  expect((await object.claim(key, attempt({ onLeaseEnd: "rerun" }))).status).toBe("recorded")
})

test("rerun: past the deadline nothing runs again, and the outcome is unknown", async () => {
  const key = rowKey(LEASE_ENDS_AT)
  await object.claim(key, attempt({ onLeaseEnd: "rerun" }))
  setClock(key.deadline + 1)
  expect(await object.claim(key, attempt({ onLeaseEnd: "rerun" }))).toMatchObject({ status: "unknown" })
  expect(await object.lookup(key, OTHER_INPUT)).toMatchObject({ status: "unknown" })
})

test("the first claim fixes policy and input, until it is released", async () => {
  const key = rowKey()
  const claim = claimOf(await object.claim(key, attempt()))
  await object.release(key, claim)
  await object.claim(key, attempt({ fingerprint: OTHER_INPUT, onLeaseEnd: "rerun" }))
  setClock(LEASE_ENDS_AT)
  const again = await object.claim(key, attempt({ fingerprint: OTHER_INPUT, onLeaseEnd: "report" }))
  expect(again.status).toBe("claimed")
  setClock(LEASE_ENDS_AT + 30_000)
  expect((await object.claim(key, attempt({ fingerprint: OTHER_INPUT, onLeaseEnd: "report" }))).status).toBe("claimed")
})

test("rerun: an operation that was given back after an attempt vanished stays with its input", async () => {
  const key = rowKey()
  await object.claim(key, attempt({ onLeaseEnd: "rerun" }))
  setClock(LEASE_ENDS_AT)
  const second = claimOf(await object.claim(key, attempt({ onLeaseEnd: "rerun" })))
  await object.release(key, second)
  const other = { onLeaseEnd: "rerun", fingerprint: OTHER_INPUT } as const
  expect(await object.claim(key, attempt(other))).toMatchObject({ status: "running", sameInput: false })
  expect(await object.settle(key, settlement("declined"))).toMatchObject({ status: "running" })
  expect(await object.lookup(key, OTHER_INPUT)).toMatchObject({ status: "running", sameInput: false })
  expect(await object.claim(key, attempt({ onLeaseEnd: "rerun" }))).toMatchObject({ status: "claimed", again: true })
})
