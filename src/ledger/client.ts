import type { TenantId } from "../brands.ts"
import { base64UrlToBytes, bytesToBase64Url, type Purpose, pae, RESULT_LIMIT_BYTES } from "../seal/index.ts"
import type { Ledger } from "./object.ts"
import { locationHint } from "./placement.ts"
import { withRetries } from "./retry.ts"
import { LONGEST_LEASE_SECONDS } from "./sealed.ts"
import type { RowKey } from "./sealed-rows.ts"
import type { Attempt, LedgerClient, RecordKey } from "./types.ts"

/** Stored results are at most this long: the longest result, and what its encryption may add. */
export const LONGEST_BODY_BYTES = RESULT_LIMIT_BYTES + 1024

const ID_BYTES = 12
const ATTEMPT_BYTES = 16
const FINGERPRINT_BYTES = 16
/** Enough to tell the calls on one operation apart, and few enough to keep a redemption's row within 64 bytes. */
const CALL_BYTES = 6

type Remote = Pick<Ledger, "claim" | "settle" | "record" | "release" | "lookup">

/** What the client needs of a `Ledger` stub: each verb, answered later. */
export type LedgerStub = {
  readonly [Verb in keyof Remote]: (
    ...parameters: Parameters<Remote[Verb]>
  ) => Promise<Awaited<ReturnType<Remote[Verb]>>>
}

/** What the client needs of the binding `DurableObjectNamespace<Ledger>`; tests put stubs behind it that fail. */
export interface LedgerNamespace {
  getByName(name: string, options?: { readonly locationHint?: DurableObjectLocationHint }): LedgerStub
  jurisdiction(jurisdiction: DurableObjectJurisdiction): Pick<LedgerNamespace, "getByName">
}

export interface LedgerOptions {
  readonly namespace: LedgerNamespace
  /** Keeps the records of each purpose in objects of their own. */
  readonly purpose: Purpose
  /** Where a tenant's records must stay. Never change a tenant's entry: its spent operations would be out of reach. */
  readonly jurisdictions: ReadonlyMap<TenantId, DurableObjectJurisdiction>
}

/**
 * The ledger as the rest of the house sees it. A call that got lost is made again, for about two seconds, and has one
 * effect however often it arrives. The caller may repeat a claim with the same attempt, and what it does with its claim.
 *
 * All calls throw `LedgerOverloaded` or `LedgerUnavailable` (answer 503 with `Retry-After`) when the object cannot be
 * reached, and `RangeError` for what breaks a stated limit: attempts and fingerprints have 16
 * bytes, leases last 1..900 s, bodies have at most `LONGEST_BODY_BYTES`.
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
    const name = await objectName(purpose, key)
    return withRetries(() => verb(stubOf(name, key), row))
  }

  return {
    async claim(key, attempt) {
      checkAttempt(attempt)
      return call(key, (stub, row) => stub.claim(row, attempt))
    },
    async settle(key, outcome, fingerprint, body) {
      checkLength("fingerprint", fingerprint, FINGERPRINT_BYTES)
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
      checkLength("fingerprint", fingerprint, FINGERPRINT_BYTES)
      return call(key, (stub, row) => stub.lookup(row, fingerprint))
    },
  }
}

/** No name tells a tenant, and no two tenants, purposes, regions or shards share one. */
async function objectName(purpose: Purpose, { tenant, home }: RecordKey): Promise<string> {
  const parts = pae(purpose, tenant, String(home.region), String(home.shard))
  return bytesToBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", parts)))
}

function rowKey({ operation, deadline }: RecordKey): RowKey {
  const id = base64UrlToBytes(operation)
  if (id?.length !== ID_BYTES) throw new RangeError(`An operation id is ${ID_BYTES} bytes in base64url.`)
  if (!Number.isSafeInteger(deadline)) throw new RangeError("A deadline is a whole number of milliseconds since 1970.")
  return { deadline, id }
}

function checkAttempt({ attempt, fingerprint, leaseSeconds }: Attempt): void {
  checkLength("attempt", attempt, ATTEMPT_BYTES)
  checkLength("fingerprint", fingerprint, FINGERPRINT_BYTES)
  if (!Number.isInteger(leaseSeconds) || leaseSeconds < 1 || leaseSeconds > LONGEST_LEASE_SECONDS)
    throw new RangeError(`A lease lasts a whole number of seconds from 1 to ${LONGEST_LEASE_SECONDS}.`)
}

function checkLength(what: string, bytes: Uint8Array, length: number): void {
  if (bytes.byteLength !== length) throw new RangeError(`The ${what} of an operation has ${length} bytes.`)
}

function checkBody(body: Uint8Array | undefined): void {
  if (body !== undefined && body.byteLength > LONGEST_BODY_BYTES)
    throw new RangeError(`A stored result has at most ${LONGEST_BODY_BYTES} bytes; record the outcome without it.`)
}
