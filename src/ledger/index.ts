// The ledger: spends each operation once and remembers its outcome, a sealed one near where it began.
// It knows ids, fingerprints, leases and opaque bodies. It must not know what an operation does,
// who asked for it, or what a token, an answer or a result says.

export {
  createLedgerClient,
  type LedgerNamespace,
  type LedgerStub,
} from "./client.ts"
export { createKeyedLedgerClient, type KeyedLedgerNamespace, type KeyedLedgerStub } from "./keyed-client.ts"
export type {
  BeginAnswer,
  EndAnswer,
  Ended,
  Ending,
  KeyedAttempt,
  KeyedLedgerClient,
  KeyedOutcome,
  KeyedRecorded,
  KeyedUnsettled,
  OperationKey,
  ReadAnswer,
  RenewAnswer,
  ResolveAnswer,
} from "./keyed-types.ts"
export { LONGEST_BODY_BYTES } from "./limits.ts"
export { Ledger } from "./object.ts"
export { chooseHome, type Entry } from "./placement.ts"
export { LedgerOverloaded, LedgerUnavailable } from "./retry.ts"
export { type Namespace, objectName, within } from "./stub.ts"
export type {
  Answer,
  AnswerAnswer,
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
