import type { OperationId, TenantId } from "../brands.ts"
import type { Home } from "../seal/index.ts"

/** Names the one record in which all rounds and branches of a sealed operation meet. Comes from a verified token. */
export interface RecordKey {
  readonly tenant: TenantId
  readonly operation: OperationId
  /** Milliseconds since 1970; the object refuses a claim past it by its own clock. */
  readonly deadline: number
  readonly home: Home
}

/** Outcomes that are final once recorded. */
export type Outcome = "completed" | "failed" | "declined" | "cancelled" | "policy_changed"

/** What becomes of an operation whose owner vanished: stated as unknown (at most once), or run again (at least once). */
export type LeaseEnd = "report" | "rerun"

declare const claim: unique symbol
/** Opaque proof that the holder owns the running attempt: the fence and 16 random bytes. Made by the ledger alone. */
export type Claim = Uint8Array & { readonly [claim]: true }

export interface Attempt {
  /** 16 random bytes, one an attempt: the same attempt asking again gets the same claim. */
  readonly attempt: Uint8Array
  /** 16 bytes: what was decided on, so that another branch or other answers are told apart. */
  readonly fingerprint: Uint8Array
  /** 1..900 */
  readonly leaseSeconds: number
  readonly onLeaseEnd: LeaseEnd
}

export interface Recorded {
  readonly status: "recorded"
  readonly outcome: Outcome
  /** The fingerprint is the recorded one: an exact repeat. */
  readonly sameInput: boolean
  /** The stored result, encrypted by the caller; absent where there is none. */
  readonly body?: Uint8Array
  readonly recordedAt: number
}

/** The answer to one of the rounds of an operation whose rounds are strict: each counts once. */
export interface Answer {
  /** As the verified token says, from 1. */
  readonly round: number
  /** 16 bytes, as an attempt on the strength of this answer will carry. */
  readonly fingerprint: Uint8Array
}

/**
 * An attempt is at work or may be made (`running`), or its lease ended and nothing runs again (`unknown`): under
 * the policy `report`, or because the deadline has passed.
 */
export interface Unsettled {
  readonly status: "running" | "unknown"
  readonly sameInput: boolean
  readonly leaseEndsAt: number
}

export type ClaimAnswer =
  | {
      readonly status: "claimed"
      readonly claim: Claim
      readonly leaseEndsAt: number
      /** An earlier attempt vanished, and its effect may have happened: only the effect itself can tell. */
      readonly again: boolean
    }
  | Recorded
  | Unsettled
  /** The deadline has passed by the object's clock and nothing was recorded. */
  | { readonly status: "late" }

export type SettleAnswer =
  /** This very call recorded the outcome. */
  { readonly status: "settled"; readonly recordedAt: number } | Recorded | Unsettled | { readonly status: "late" }

export type AnswerAnswer =
  /** The answer counts, now or already: go on. */
  | { readonly status: "passed" }
  /** Another answer was given to this round or a later one; nothing was changed. */
  | { readonly status: "already_used" }
  | Recorded
  | Unsettled
  | { readonly status: "late" }

export type LookupAnswer = Recorded | Unsettled | { readonly status: "absent" }
/** `superseded`: the claim is no longer the current one; nothing was changed. */
export type FinishAnswer = { readonly status: "done" } | { readonly status: "superseded" }

/** Spends operations and records their outcomes. One call is one hop to one object. */
export interface LedgerClient {
  /**
   * Takes the operation for one attempt, or says what stands in the record. While another attempt with the same input
   * runs, the call waits up to `waitSeconds` (0..25, by default 0) for it to end.
   */
  claim(key: RecordKey, attempt: Attempt, waitSeconds?: number): Promise<ClaimAnswer>
  /**
   * Takes the answer to a strict round, before it is acted on. Until a later round is answered, only an attempt or a
   * settlement with its fingerprint can end the operation.
   */
  answer(key: RecordKey, answer: Answer): Promise<AnswerAnswer>
  /**
   * Records an outcome without a claim, unless something stands there: one that had no effect (declined, cancelled,
   * policy changed), or a redemption. Its fingerprint tells the same caller from others.
   */
  settle(key: RecordKey, outcome: Outcome, fingerprint: Uint8Array, body?: Uint8Array): Promise<SettleAnswer>
  /** Records the outcome of a claimed attempt; the same again by its owner is `done` again. */
  record(key: RecordKey, claim: Claim, outcome: Outcome, body?: Uint8Array): Promise<FinishAnswer>
  /**
   * Gives a claimed operation back: sure that this attempt did nothing. Where an earlier one vanished, the operation
   * stays with its input, which may run again at once.
   */
  release(key: RecordKey, claim: Claim): Promise<FinishAnswer>
  /** Reads the record and changes nothing. */
  lookup(key: RecordKey, fingerprint: Uint8Array): Promise<LookupAnswer>
}
