import type { TenantId } from "../brands.ts"
import { base64UrlToBytes, type Purpose } from "../seal/index.ts"
import { checkAttempt, checkBody, checkFingerprint, checkRound, checkWait } from "./limits.ts"
import { locationHint } from "./placement.ts"
import { withRetries } from "./retry.ts"
import type { RowKey } from "./sealed-rows.ts"
import { type Namespace, objectName, type StubOf } from "./stub.ts"
import type { LedgerClient, RecordKey } from "./types.ts"

const ID_BYTES = 12
/** Enough to tell the calls on one operation apart, and few enough to keep a redemption's row within 64 bytes. */
const CALL_BYTES = 6

export type LedgerStub = StubOf<"claim" | "answer" | "settle" | "record" | "release" | "lookup">
export type LedgerNamespace = Namespace<LedgerStub>

export interface LedgerOptions {
  readonly namespace: LedgerNamespace
  /** Keeps the records of each purpose in objects of their own. */
  readonly purpose: Purpose
  /** Where a tenant's records must stay. Never change a tenant's entry: its spent operations would be out of reach. */
  readonly jurisdictions: ReadonlyMap<TenantId, DurableObjectJurisdiction>
}

/**
 * The ledger as the rest of the house sees it. A call that got lost is made again, for about 1.5 s, and has one
 * effect however often it arrives. The caller may repeat a claim with the same attempt, and what it does with its claim.
 *
 * All calls throw `LedgerOverloaded` or `LedgerUnavailable` (answer 503 with `Retry-After`) when the object cannot be
 * reached, and `RangeError` for what breaks a stated limit: attempts and fingerprints have 16 bytes, leases last
 * 1..900 s, waits 0..25 s, bodies have at most `LONGEST_BODY_BYTES`.
 *
 * @example
 * const ledger = createLedgerClient({ namespace: env.LEDGER, purpose: "mcp", jurisdictions: new Map() })
 * const answer = await ledger.claim(key, { attempt, fingerprint, leaseSeconds: 30, onLeaseEnd: "report" })
 * if (answer.status === "claimed") await ledger.record(key, answer.claim, "completed", await runTheEffect())
 */
export function createLedgerClient({ namespace, purpose, jurisdictions }: LedgerOptions): LedgerClient {
  function stubOf(name: string, key: RecordKey): LedgerStub {
    const jurisdiction = jurisdictions.get(key.tenant)
    if (jurisdiction !== undefined) return namespace.jurisdiction(jurisdiction).getByName(name)
    const hint = locationHint(key.home)
    return namespace.getByName(name, hint === undefined ? {} : { locationHint: hint })
  }

  async function call<T>(key: RecordKey, verb: (stub: LedgerStub, row: RowKey) => Promise<T>): Promise<T> {
    const row = rowKey(key)
    const name = await objectName(purpose, key.tenant, String(key.home.region), String(key.home.shard))
    return withRetries(() => verb(stubOf(name, key), row))
  }

  return {
    async claim(key, attempt, waitSeconds = 0) {
      checkAttempt(attempt)
      checkWait(waitSeconds)
      return call(key, (stub, row) => stub.claim(row, attempt, waitSeconds))
    },
    async answer(key, answer) {
      checkFingerprint(answer.fingerprint)
      checkRound(answer.round)
      return call(key, (stub, row) => stub.answer(row, answer))
    },
    async settle(key, outcome, fingerprint, body) {
      checkFingerprint(fingerprint)
      checkBody(body)
      const id = crypto.getRandomValues(new Uint8Array(CALL_BYTES))
      const settlement = { call: id, outcome, fingerprint, ...(body && { body }) }
      return call(key, (stub, row) => stub.settle(row, settlement))
    },
    async record(key, claim, outcome, body) {
      checkBody(body)
      return call(key, (stub, row) => stub.record(row, claim, outcome, body))
    },
    async release(key, claim) {
      return call(key, (stub, row) => stub.release(row, claim))
    },
    async lookup(key, fingerprint) {
      checkFingerprint(fingerprint)
      return call(key, (stub, row) => stub.lookup(row, fingerprint))
    },
  }
}

function rowKey({ operation, deadline }: RecordKey): RowKey {
  const id = base64UrlToBytes(operation)
  if (id?.length !== ID_BYTES) throw new RangeError(`An operation id is ${ID_BYTES} bytes in base64url.`)
  if (!Number.isSafeInteger(deadline)) throw new RangeError("A deadline is a whole number of milliseconds since 1970.")
  return { deadline, id }
}
