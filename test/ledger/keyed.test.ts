import { runInDurableObject } from "cloudflare:test"
import { beforeEach, expect, test } from "vitest"
import type { Ending } from "../../src/ledger/index.ts"
import { claimedOf, keyedAttempt, keyedClaimOf, keyedId, RETENTION_SECONDS } from "./keyed-support.ts"
import {
  crashed,
  freshObject,
  type LedgerObject,
  MINUTE,
  OTHER_INPUT,
  randomBytes,
  START,
  setClock,
} from "./support.ts"

const LEASE_ENDS_AT = START + 30_000
const RETENTION = RETENTION_SECONDS * 1000
const BODY = new TextEncoder().encode("encrypted result")
const COMPLETED: Ending = { outcome: "completed", body: BODY }
const RERUN: Ending = { outcome: "rerun" }
const NOT_UNKNOWN = { status: "not_unknown" }
const STALE = { status: "stale" }

let object: LedgerObject
let id: Uint8Array
beforeEach(() => {
  setClock(START)
  object = freshObject()
  id = keyedId()
})

const resolution = (ending: Ending, attempt = 1) => ({ attempt, call: randomBytes(16), ending })
const begun = async (changes: Parameters<typeof keyedAttempt>[0] = {}) =>
  keyedClaimOf(await object.begin(id, keyedAttempt(changes)))

test("of twenty parallel attempts one is the first, and the others hear that it runs", async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => object.begin(id, keyedAttempt())))
  const running = { status: "running", attempt: 1, leaseEndsAt: LEASE_ENDS_AT }
  expect(answers.filter(({ status }) => status === "claimed")).toMatchObject([{ ...running, status: "claimed" }])
  expect(answers.filter(({ status }) => status === "running")).toEqual(Array(19).fill(running))
})

test("the same attempt gets the same claim while its lease lasts, and no longer", async () => {
  const mine = keyedAttempt()
  const first = await object.begin(id, mine)
  expect(await object.begin(id, mine)).toEqual(first)
  setClock(LEASE_ENDS_AT)
  expect(await object.begin(id, mine)).toEqual({ status: "unknown", attempt: 1, leaseEndsAt: LEASE_ENDS_AT })
})

test("a completed operation gives its result to everyone, and to its owner again", async () => {
  const claim = await begun()
  setClock(START + 5000)
  const endedAt = START + 5000
  expect(await object.end(id, claim, COMPLETED)).toEqual({ status: "ended", endedAt, expiresAt: endedAt + RETENTION })
  setClock(LEASE_ENDS_AT + MINUTE)
  const recorded = { status: "recorded", outcome: "completed", attempt: 1, body: BODY }
  const standing = { ...recorded, recordedAt: endedAt, expiresAt: endedAt + RETENTION }
  expect(await object.begin(id, keyedAttempt())).toEqual(standing)
  expect(await object.read(id)).toEqual(standing)
  expect(await object.end(id, claim, { outcome: "completed", body: randomBytes(5) })).toEqual(standing)
  expect(await object.end(id, claim, { outcome: "failed" })).toEqual(STALE)
  expect(await object.end(id, claim, RERUN)).toEqual(STALE)
  expect(await object.renew(id, claim, 30)).toEqual(STALE)
  expect(await object.resolve(id, resolution({ outcome: "failed" }))).toEqual(NOT_UNKNOWN)
})

test("a final failure is an outcome like a result, with or without a body", async () => {
  const claim = await begun()
  await object.end(id, claim, { outcome: "failed" })
  const standing = await object.begin(id, keyedAttempt())
  expect(standing).toMatchObject({ status: "recorded", outcome: "failed" })
  expect(standing).not.toHaveProperty("body")
  expect(await object.end(id, claim, { outcome: "failed", body: BODY })).toEqual(standing)
  expect(await object.end(id, claim, COMPLETED)).toEqual(STALE)
})

test("a failure that may be tried again lets the next attempt run, on the first one's terms", async () => {
  const claim = await begun()
  const ended = { endedAt: START, expiresAt: START + RETENTION }
  expect(await object.end(id, claim, RERUN)).toEqual({ status: "ended", ...ended })
  expect(await object.end(id, claim, RERUN)).toEqual({ status: "ended", ...ended })
  expect(await object.end(id, claim, COMPLETED)).toEqual(STALE)
  expect(await object.read(id)).toEqual({ status: "retryable", attempt: 1, ...ended })

  const other = keyedAttempt({ onLeaseEnd: "rerun", retentionSeconds: 60 })
  expect(await object.begin(id, other)).toMatchObject({ status: "claimed", attempt: 2 })
  expect(await object.end(id, claim, RERUN)).toEqual(STALE)
  setClock(LEASE_ENDS_AT)
  expect(await object.begin(id, other)).toEqual({ status: "unknown", attempt: 2, leaseEndsAt: LEASE_ENDS_AT })
  setClock(LEASE_ENDS_AT + RETENTION - 1)
  expect(await object.read(id)).toMatchObject({ status: "unknown" })
})

test("other input under the same key is a mismatch, whatever stands there", async () => {
  const other = keyedAttempt({ fingerprint: OTHER_INPUT })
  const claim = await begun()
  expect(await object.begin(id, other)).toEqual({ status: "mismatch" })
  setClock(LEASE_ENDS_AT)
  expect(await object.begin(id, other)).toEqual({ status: "mismatch" })
  await object.end(id, claim, RERUN)
  expect(await object.begin(id, other)).toEqual({ status: "mismatch" })
  await object.end(id, await begun(), COMPLETED)
  expect(await object.begin(id, other)).toEqual({ status: "mismatch" })
})

test("report: after the lease nothing runs again, and a late owner settles the unknown outcome", async () => {
  const claim = await begun()
  setClock(LEASE_ENDS_AT + MINUTE)
  const unknown = { status: "unknown", attempt: 1, leaseEndsAt: LEASE_ENDS_AT }
  expect(await object.begin(id, keyedAttempt({ onLeaseEnd: "rerun" }))).toEqual(unknown)
  expect(await object.read(id)).toEqual(unknown)
  expect(await object.renew(id, claim, 30)).toEqual(STALE)
  expect(await object.end(id, claim, COMPLETED)).toMatchObject({ status: "ended", endedAt: LEASE_ENDS_AT + MINUTE })
  expect(await object.begin(id, keyedAttempt())).toMatchObject({ status: "recorded", body: BODY })
})

test("rerun: after the lease one attempt goes on, and the one before is stale", async () => {
  const stale = await begun({ onLeaseEnd: "rerun" })
  setClock(LEASE_ENDS_AT)
  expect(await object.read(id)).toMatchObject({ status: "running", attempt: 1 })
  const answers = await Promise.all(Array.from({ length: 20 }, () => object.begin(id, keyedAttempt())))
  expect(answers.filter(({ status }) => status === "claimed")).toMatchObject([{ attempt: 2 }])
  for (const ending of [COMPLETED, RERUN]) expect(await object.end(id, stale, ending)).toEqual(STALE)
  expect(await object.renew(id, stale, 30)).toEqual(STALE)
})

test("rerun: a late owner whom nobody has superseded still completes, but cannot renew", async () => {
  const claim = await begun({ onLeaseEnd: "rerun" })
  setClock(LEASE_ENDS_AT)
  expect(await object.renew(id, claim, 30)).toEqual(STALE)
  expect(await object.resolve(id, resolution(COMPLETED))).toEqual(NOT_UNKNOWN)
  expect(await object.end(id, claim, COMPLETED)).toMatchObject({ status: "ended" })
})

test("renewing lets the lease end so long after now", async () => {
  const claim = await begun()
  setClock(LEASE_ENDS_AT - 1)
  const leaseEndsAt = LEASE_ENDS_AT - 1 + 900_000
  expect(await object.renew(id, claim, 900)).toEqual({ status: "renewed", leaseEndsAt })
  setClock(leaseEndsAt - 1)
  expect(await object.begin(id, keyedAttempt())).toEqual({ status: "running", attempt: 1, leaseEndsAt })
  setClock(leaseEndsAt)
  expect(await object.begin(id, keyedAttempt())).toMatchObject({ status: "unknown" })
})

test.for(["completed", "failed"] as const)(
  "an unknown outcome is resolved as %s, once and for all",
  async (outcome) => {
    const claim = await begun()
    const mine = resolution({ outcome, body: BODY })
    expect(await object.resolve(id, mine)).toEqual(NOT_UNKNOWN)
    setClock(LEASE_ENDS_AT)
    const ended = { status: "ended", endedAt: LEASE_ENDS_AT, expiresAt: LEASE_ENDS_AT + RETENTION }
    expect(await object.resolve(id, mine)).toEqual(ended)
    expect(await object.resolve(id, mine)).toEqual(ended)
    expect(await object.resolve(id, resolution({ outcome, body: BODY }))).toEqual(NOT_UNKNOWN)
    expect(await object.begin(id, keyedAttempt())).toMatchObject({
      status: "recorded",
      outcome,
      attempt: 1,
      body: BODY,
    })
    expect(await object.end(id, claim, { outcome, body: BODY })).toEqual(STALE)
  },
)

test("an unknown outcome is resolved to run again, and its first owner can say nothing more", async () => {
  const claim = await begun()
  setClock(LEASE_ENDS_AT)
  const mine = resolution(RERUN)
  expect(await object.resolve(id, mine)).toMatchObject({ status: "ended" })
  expect(await object.resolve(id, mine)).toMatchObject({ status: "ended" })
  for (const ending of [COMPLETED, RERUN]) expect(await object.end(id, claim, ending)).toEqual(STALE)
  expect(await object.begin(id, keyedAttempt())).toMatchObject({ status: "claimed", attempt: 2 })
  expect(await object.resolve(id, mine)).toEqual(NOT_UNKNOWN)
})

test("a resolution that arrives again late says nothing of the next attempt, whose effect may have happened", async () => {
  await begun()
  setClock(LEASE_ENDS_AT)
  const mine = resolution(RERUN)
  await object.resolve(id, mine)
  const { leaseEndsAt } = claimedOf(await object.begin(id, keyedAttempt()))
  setClock(leaseEndsAt)
  expect(await object.resolve(id, mine)).toEqual(NOT_UNKNOWN)
  expect(await object.begin(id, keyedAttempt())).toMatchObject({ status: "unknown", attempt: 2 })
  expect(await object.resolve(id, resolution(RERUN, 2))).toMatchObject({ status: "ended" })
})

test("only a claim of this very attempt ends or renews it", async () => {
  const claim = await begun()
  const forged = claim.slice()
  forged[19] = Number(forged[19]) ^ 1
  for (const wrong of [forged, new Uint8Array(), new Uint8Array(20), randomBytes(32)]) {
    expect(await object.end(id, wrong, COMPLETED)).toEqual(STALE)
    expect(await object.renew(id, wrong, 30)).toEqual(STALE)
  }
  expect(await object.end(keyedId(), claim, COMPLETED)).toEqual(STALE)
  expect(await object.end(id, claim, COMPLETED)).toMatchObject({ status: "ended" })
})

test("what writes nothing leaves nothing behind", async () => {
  const claim = keyedClaimOf(await freshObject().begin(id, keyedAttempt()))
  await object.end(id, claim, COMPLETED)
  await object.renew(id, claim, 30)
  await object.resolve(id, resolution(COMPLETED))
  expect(await object.read(id)).toEqual({ status: "absent" })
  await runInDurableObject(object, async (_, { storage }) => {
    expect(storage.sql.databaseSize).toBe(4096)
    expect(await storage.getAlarm()).toBeNull()
  })
})

test("a crash forgets nothing that was answered", async () => {
  const [completed, free] = [keyedId(), keyedId()]
  const mine = keyedAttempt()
  const first = await object.begin(id, mine)
  await object.end(completed, keyedClaimOf(await object.begin(completed, keyedAttempt())), COMPLETED)
  await object.end(free, keyedClaimOf(await object.begin(free, keyedAttempt())), RERUN)

  object = await crashed(object)
  expect(await object.begin(id, keyedAttempt())).toMatchObject({ status: "running" })
  expect(await object.begin(id, mine)).toEqual(first)
  expect(await object.begin(completed, keyedAttempt())).toMatchObject({ status: "recorded", body: BODY })
  expect(await object.begin(free, keyedAttempt())).toMatchObject({ status: "claimed", attempt: 2 })

  object = await crashed(object)
  expect(await object.end(id, keyedClaimOf(first), COMPLETED)).toMatchObject({ status: "ended" })
})

test("attempts that a crash cuts off have at most one winner a key", async () => {
  const ids = Array.from({ length: 20 }, keyedId)
  const began = ids.flatMap((id) => [1, 2, 3].map(async () => ({ id, answer: await object.begin(id, keyedAttempt()) })))
  object = await crashed(object)
  const before = (await Promise.allSettled(began)).flatMap((call) => (call.status === "fulfilled" ? [call.value] : []))
  const after = await Promise.all(ids.map(async (id) => ({ id, answer: await object.begin(id, keyedAttempt()) })))
  for (const id of ids) {
    const winners = [...before, ...after].filter((call) => call.id === id && call.answer.status === "claimed")
    expect(winners.length).toBeLessThanOrEqual(1)
  }
})

test("an owner, a resolver and the next attempt race at the end of the lease: one of them has it", async () => {
  const outcomes = await Promise.all(
    Array.from({ length: 50 }, async (_, round) => {
      const id = keyedId()
      setClock(START)
      const claim = keyedClaimOf(await object.begin(id, keyedAttempt()))
      setClock(LEASE_ENDS_AT)
      const calls = [
        () => object.end(id, claim, COMPLETED),
        () => object.resolve(id, resolution({ outcome: "failed" })),
        () => object.resolve(id, resolution(RERUN)),
      ]
      const turned = [...calls.slice(round % 3), ...calls.slice(0, round % 3)]
      const answers = await Promise.all(turned.map((call) => call()))
      return answers.filter(({ status }) => status === "ended").length
    }),
  )
  expect(new Set(outcomes)).toEqual(new Set([1]))
})
