// The ledger: spends each sealed operation once and remembers its outcome, near where it began.
// It knows ids, fingerprints, leases and opaque bodies. It must not know what an operation does,
// who asked for it, or what a token, an answer or a result says.

export {
  createLedgerClient,
  type LedgerNamespace,
  type LedgerStub,
  LONGEST_BODY_BYTES,
} from "./client.ts"
export { Ledger } from "./object.ts"
export { chooseHome, type Entry } from "./placement.ts"
export { LedgerOverloaded, LedgerUnavailable } from "./retry.ts"
export type {
  Attempt,
  Claim,
  ClaimAnswer,
  LeaseEnd,
  LedgerClient,
  LookupAnswer,
  Outcome,
  Recorded,
  RecordKey,
  SettleAnswer,
  Unsettled,
} from "./types.ts"
