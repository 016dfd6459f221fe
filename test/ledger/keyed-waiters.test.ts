import { expect, test, vi } from "vitest"
import type { BeginAnswer, ClaimAnswer, LeaseEnd } from "../../src/ledger/index.ts"
import { keyedAttempt, keyedClaimOf, keyedId } from "./keyed-support.ts"
import {
  attempt,
  claimOf,
  crashed,
  freshObject,
  type LedgerObject,
  OTHER_INPUT,
  randomBytes,
  rowKey,
} from "./support.ts"

const BODY = new TextEncoder().encode("encrypted result")
const PAUSE_MS = 100
const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE_MS))

/** The answer and how long it took. */
async function timed<T>(call: Promise<T>) {
  const began = Date.now()
  const answer = await call
  return { answer, milliseconds: Date.now() - began }
}

/** One attempt runs; others come, and wait or not. */
interface Running {
  readonly object: LedgerObject
  readonly next: (waitSeconds: number) => Promise<ClaimAnswer | BeginAnswer>
  readonly complete: () => Promise<unknown>
  readonly giveBack: () => Promise<unknown>
}

type Lease = { readonly leaseSeconds?: number; readonly onLeaseEnd?: LeaseEnd }

/** The same for both kinds of operation. */
const kinds: [string, (lease?: Lease) => Promise<Running>][] = [
  [
    "a sealed operation",
    async (lease = {}) => {
      const object = freshObject()
      const key = rowKey()
      const claim = claimOf(await object.claim(key, attempt(lease)))
      return {
        object,
        next: async (waitSeconds) => object.claim(key, attempt(), waitSeconds),
        complete: () => object.record(key, claim, "completed", BODY),
        giveBack: () => object.release(key, claim),
      }
    },
  ],
  [
    "a keyed operation",
    async (lease = {}) => {
      const object = freshObject()
      const id = keyedId()
      const claim = keyedClaimOf(await object.begin(id, keyedAttempt(lease)))
      return {
        object,
        next: async (waitSeconds) => object.begin(id, keyedAttempt(), waitSeconds),
        complete: () => object.end(id, claim, { outcome: "completed", body: BODY }),
        giveBack: () => object.end(id, claim, { outcome: "rerun" }),
      }
    },
  ],
]

test.for(kinds)("%s: who waits hears of the outcome when it is recorded", async ([, begin]) => {
  const { next, complete } = await begin()
  const waiting = [timed(next(25)), timed(next(25))]
  await pause()
  await complete()
  for (const { answer, milliseconds } of await Promise.all(waiting)) {
    expect(answer).toMatchObject({ status: "recorded", body: BODY })
    expect(milliseconds).toBeLessThan(5000)
  }
})

test.for(kinds)("%s: an end that is decided in the same turn as the wait is not missed", async ([, begin]) => {
  const { next, complete } = await begin()
  const calls = [next(0), next(25), complete(), next(25)]
  const { milliseconds } = await timed(Promise.all(calls))
  expect(milliseconds).toBeLessThan(5000)
})

test.for(kinds)("%s: given back, it goes to one of those who wait, and the others wait on", async ([, begin]) => {
  const { next, giveBack } = await begin()
  const waiting = Array.from({ length: 5 }, () => timed(next(1)))
  await pause()
  await giveBack()
  const answers = await Promise.all(waiting)
  expect(answers.map(({ answer }) => answer.status).sort()).toEqual(["claimed", ...Array(4).fill("running")])
  for (const { answer, milliseconds } of answers)
    if (answer.status === "running") expect(milliseconds).toBeGreaterThanOrEqual(900)
})

test.for(kinds)("%s: patience ends, and so does the wait", async ([, begin]) => {
  const { next } = await begin()
  const { answer, milliseconds } = await timed(next(1))
  expect(answer).toMatchObject({ status: "running" })
  expect(milliseconds).toBeGreaterThanOrEqual(990)
  expect(milliseconds).toBeLessThan(6000)
})

test.for(kinds)("%s: who waits hears when the lease ends", async ([, begin]) => {
  const reported = await begin({ leaseSeconds: 1 })
  const rerun = await begin({ leaseSeconds: 1, onLeaseEnd: "rerun" })
  const [unknown, claimed] = await Promise.all([timed(reported.next(25)), timed(rerun.next(25))])
  expect(unknown.answer).toMatchObject({ status: "unknown" })
  expect(claimed.answer).toMatchObject({ status: "claimed" })
  expect(Math.max(unknown.milliseconds, claimed.milliseconds)).toBeLessThan(10_000)
})

test.for(kinds)("%s: thirty-two may wait, and the next is answered at once", async ([, begin]) => {
  const { next, complete } = await begin()
  const waiting = Array.from({ length: 32 }, () => next(25))
  await pause()
  const { answer, milliseconds } = await timed(next(25))
  expect(answer).toMatchObject({ status: "running" })
  expect(milliseconds).toBeLessThan(5000)
  await complete()
  for (const answer of await Promise.all(waiting)) expect(answer).toMatchObject({ status: "recorded" })
})

test.for(kinds)("%s: who has waited gives the place to another", async ([, begin]) => {
  const { next, complete } = await begin()
  await Promise.all(Array.from({ length: 32 }, () => next(1)))
  const waiting = next(25)
  await pause()
  await complete()
  expect(await waiting).toMatchObject({ status: "recorded" })
})

test.for(kinds)("%s: patience ends in its time though the clock steps back", async ([, begin]) => {
  const { next } = await begin()
  const now = Date.now()
  const waiting = timed(next(1))
  await pause()
  const clock = vi.spyOn(Date, "now").mockReturnValue(now - 60_000)
  const ended = await Promise.race([waiting, new Promise((resolve) => setTimeout(resolve, 5_000, "still waiting"))])
  clock.mockRestore()
  expect(ended).toMatchObject({ answer: { status: "running" } })
})

test.for(kinds)("%s: who waits through a crash hears of the crash", async ([, begin]) => {
  const { next, object } = await begin()
  const waiting = next(25).catch(() => "crashed")
  await pause()
  await crashed(object)
  expect(await waiting).toBe("crashed")
})

test("a renewed lease is waited for further", async () => {
  const object = freshObject()
  const id = keyedId()
  const claim = keyedClaimOf(await object.begin(id, keyedAttempt({ leaseSeconds: 1 })))
  const waiting = object.begin(id, keyedAttempt(), 25)
  await object.renew(id, claim, 30)
  await new Promise((resolve) => setTimeout(resolve, 1200))
  await object.end(id, claim, { outcome: "completed", body: BODY })
  expect(await waiting).toMatchObject({ status: "recorded" })
})

test("nobody waits who has other input, or where nothing runs", async () => {
  const object = freshObject()
  const [key, id] = [rowKey(), keyedId()]
  await object.claim(key, attempt())
  await object.begin(id, keyedAttempt())
  const { answer, milliseconds } = await timed(
    Promise.all([
      object.claim(key, attempt({ fingerprint: OTHER_INPUT }), 25),
      object.begin(id, keyedAttempt({ fingerprint: OTHER_INPUT }), 25),
      object.claim(rowKey(), attempt(), 25),
      object.begin(randomBytes(32), keyedAttempt(), 25),
    ]),
  )
  expect(answer.map(({ status }) => status)).toEqual(["running", "mismatch", "claimed", "claimed"])
  expect(milliseconds).toBeLessThan(5000)
})
