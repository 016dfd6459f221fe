import type { TenantId } from "../brands.ts"
import { pae } from "../seal/index.ts"
import type { Ending, KeyedLedgerClient, OperationKey } from "./keyed-types.ts"
import { checkAttempt, checkBody, checkLease, checkRange, checkWait } from "./limits.ts"
import { withRetries } from "./retry.ts"
import { type Namespace, objectName, type StubOf, within } from "./stub.ts"

const SHORTEST_RETENTION_SECONDS = 60
const LONGEST_RETENTION_SECONDS = 2_592_000
const CALL_BYTES = 16

export type KeyedLedgerStub = StubOf<"begin" | "end" | "renew" | "resolve" | "read">
export type KeyedLedgerNamespace = Namespace<KeyedLedgerStub>

export interface KeyedLedgerOptions {
  readonly namespace: KeyedLedgerNamespace
  /** Where a tenant's records must stay. Never change a tenant's entry: its records would be out of reach. */
  readonly jurisdictions: ReadonlyMap<TenantId, DurableObjectJurisdiction>
}

/**
 * The ledger of operations that callers name by keys of their own. A call that got lost is made again, for about two
 * seconds, and has one effect however often it arrives. The caller may repeat a `begin` with the same attempt, and what
 * it does with its claim.
 *
 * All calls throw `LedgerOverloaded` or `LedgerUnavailable` (answer 503 with `Retry-After`) when the object cannot be
 * reached, and `RangeError` for what breaks a stated limit: attempts and fingerprints have 16 bytes, leases last
 * 1..900 s, records are kept 60..2,592,000 s, waits last 0..25 s, bodies have at most `LONGEST_BODY_BYTES`.
 *
 * @example
 * const ledger = createKeyedLedgerClient({ namespace: env.LEDGER, jurisdictions: new Map() })
 * const begun = await ledger.begin(key, attempt, 10)
 * if (begun.status === "claimed") await ledger.end(key, begun.claim, { outcome: "completed", body })
 */
export function createKeyedLedgerClient({ namespace, jurisdictions }: KeyedLedgerOptions): KeyedLedgerClient {
  function stubOf(name: string, tenant: TenantId): KeyedLedgerStub {
    return within(namespace, jurisdictions.get(tenant)).getByName(name)
  }

  async function call<T>(key: OperationKey, verb: (stub: KeyedLedgerStub, id: Uint8Array) => Promise<T>): Promise<T> {
    const id = await idOf(key)
    const name = await objectOf(key.tenant, id)
    return withRetries(() => verb(stubOf(name, key.tenant), id))
  }

  async function unknownAttempt(key: OperationKey): Promise<number | undefined> {
    const standing = await call(key, (stub, id) => stub.read(id))
    return standing.status === "unknown" ? standing.attempt : undefined
  }

  return {
    async begin(key, attempt, waitSeconds = 0) {
      checkAttempt(attempt)
      checkRetention(attempt.retentionSeconds)
      checkWait(waitSeconds)
      return call(key, (stub, id) => stub.begin(id, attempt, waitSeconds))
    },
    async end(key, claim, ending) {
      checkEnding(ending)
      return call(key, (stub, id) => stub.end(id, claim, ending))
    },
    async renew(key, claim, leaseSeconds) {
      checkLease(leaseSeconds)
      return call(key, (stub, id) => stub.renew(id, claim, leaseSeconds))
    },
    async resolve(key, ending, meant) {
      checkEnding(ending)
      const attempt = meant ?? (await unknownAttempt(key))
      if (attempt === undefined) return { status: "not_unknown" }
      const resolution = { attempt, call: crypto.getRandomValues(new Uint8Array(CALL_BYTES)), ending }
      return call(key, (stub, id) => stub.resolve(id, resolution))
    },
    async read(key) {
      return call(key, (stub, id) => stub.read(id))
    },
  }
}

async function idOf({ tenant, caller, principal, key }: OperationKey): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", pae(tenant, caller, principal, key)))
}

/** One of 256 objects of the tenant, by the first byte of the record's id. Without a region: no token carries it. */
function objectOf(tenant: TenantId, id: Uint8Array): Promise<string> {
  return objectName("api", tenant, undefined, String(id[0]))
}

function checkRetention(seconds: number): void {
  const what = "A record is kept for a whole number of seconds"
  checkRange(what, seconds, SHORTEST_RETENTION_SECONDS, LONGEST_RETENTION_SECONDS)
}

function checkEnding(ending: Ending): void {
  if (ending.outcome !== "rerun") checkBody(ending.body)
}
