import type { Identity } from "../auth/index.ts"
import type { OperationId } from "../brands.ts"
import type { KeyedLedgerClient, LedgerClient } from "../ledger/index.ts"
import type { RateLimiter } from "../rate-limit.ts"
import type { Home, KeyListing, Reason, ResultBox, Sealer } from "../seal/index.ts"

/** What happened, for the operator: ids and decisions, never what anybody wrote, nor a key or a principal. */
export type ApiEvent =
  | { readonly event: "state_refused"; readonly name: string; readonly reason: Reason }
  | {
      readonly event: "redeem"
      readonly operation: OperationId
      readonly round: number
      readonly outcome: "redeemed" | "replayed" | "already_redeemed"
    }
  | { readonly event: "keyed_operation"; readonly name: string; readonly outcome: string }
  | { readonly event: "rate_limited"; readonly name: string }
  /** The error's name, never its message, which may quote what somebody wrote. */
  | { readonly event: "fault"; readonly name: string; readonly error: string }

/** What the API is made of; everything that has a clock, a key, a die or a wire comes from outside. */
export interface ApiParts {
  readonly sealer: Sealer
  readonly results: ResultBox
  readonly ledger: LedgerClient
  readonly keyedLedger: KeyedLedgerClient
  readonly listKeys: () => readonly KeyListing[]
  /** Where a new operation's record shall live. */
  readonly home: () => Home
  readonly now: () => number
  readonly random: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array
  readonly rateLimiter: RateLimiter
  readonly observe: (event: ApiEvent) => void
}

/** One call, after its caller has been proven. */
export interface Call {
  readonly identity: Identity
  readonly parts: ApiParts
}
