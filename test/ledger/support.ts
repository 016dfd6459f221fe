import { abortAllDurableObjects } from "cloudflare:test"
import { env } from "cloudflare:workers"
import { afterEach, expect, vi } from "vitest"
import type { Attempt, Claim, ClaimAnswer, Outcome, RecordKey } from "../../src/ledger/index.ts"
import type { Settlement } from "../../src/ledger/sealed.ts"
import type { RowKey } from "../../src/ledger/sealed-rows.ts"
import { bytesToBase64Url } from "../../src/seal/index.ts"

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE

/** When every test begins that steps the clock: so late that the runtime, whose clock is real, never fires an alarm. */
export const START = Date.parse("2040-11-02T09:00:00Z")

/** Freezes the clock of the test and of the object, which share an isolate, until the test is over. */
export function setClock(time: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now: time })
}

afterEach(() => {
  vi.useRealTimers()
})

let objects = 0

/** An object that no other test has touched. */
export function freshObject() {
  return env.LEDGER.getByName(`test ${objects++}`)
}

export type LedgerObject = ReturnType<typeof freshObject>

/** Kills every object in the middle of whatever it does, and reaches this one again: a stub breaks with its object. */
export async function crashed(object: LedgerObject): Promise<LedgerObject> {
  await abortAllDurableObjects()
  return env.LEDGER.get(object.id)
}

export function randomBytes(length: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(length))
}

export function rowKey(deadline = Date.now() + 5 * MINUTE): RowKey {
  return { deadline, id: randomBytes(12) }
}

export function attempt(changes: Partial<Attempt> = {}): Attempt {
  return {
    attempt: randomBytes(16),
    fingerprint: new Uint8Array(16).fill(7),
    leaseSeconds: 30,
    onLeaseEnd: "report",
    ...changes,
  }
}

/** A call of its own that settles, by default for another input than that of `attempt`. */
export function settlement(outcome: Outcome = "declined", changes: Partial<Settlement> = {}): Settlement {
  return { call: randomBytes(6), outcome, fingerprint: OTHER_INPUT, ...changes }
}

export const OTHER_INPUT = new Uint8Array(16).fill(8)

export function claimOf(answer: ClaimAnswer): Claim {
  if (answer.status !== "claimed") expect.fail(`expected a claim, not ${answer.status}`)
  return answer.claim
}

export function fenceOf(claim: Claim): number {
  return new DataView(claim.buffer, claim.byteOffset).getUint32(0)
}

/** A fresh operation of a tenant, as its verified token would name it. */
export function recordKey(changes: Partial<RecordKey> = {}): RecordKey {
  return {
    tenant: "tenant" as RecordKey["tenant"],
    operation: bytesToBase64Url(randomBytes(12)) as RecordKey["operation"],
    deadline: Date.now() + 5 * MINUTE,
    home: { region: 1, shard: 3 },
    ...changes,
  }
}
