import type { Principal, TenantId } from "../brands.ts"
import type { Attempt, Claim } from "./types.ts"

/** Names an operation by its caller's own key: no token carries it, so nothing else leads to its record. */
export interface OperationKey {
  readonly tenant: TenantId
  readonly caller: Principal
  /** For whom the caller acts; absent is not empty. */
  readonly principal?: string | undefined
  readonly key: string
}

/** The first attempt on a key fixes fingerprint, retention and policy. */
export interface KeyedAttempt extends Attempt {
  /** 60..2,592,000: how long the record is kept after its outcome, or after the end of the last lease. */
  readonly retentionSeconds: number
}

export type KeyedOutcome = "completed" | "failed"

/** How an attempt ends: with a final outcome, or so that the next may run. */
export type Ending =
  | { readonly outcome: KeyedOutcome; readonly body?: Uint8Array | undefined }
  | { readonly outcome: "rerun" }

export interface KeyedRecorded {
  readonly status: "recorded"
  readonly outcome: KeyedOutcome
  /** The stored result or error, encrypted by the caller; absent where there is none. */
  readonly body?: Uint8Array
  /** Which attempt it was, counted from 1. */
  readonly attempt: number
  readonly recordedAt: number
  readonly expiresAt: number
}

/**
 * An attempt is at work or, under `rerun`, may be made again (`running`); or its lease ended under `report` and nothing
 * runs until its owner or `resolve` says what happened (`unknown`).
 */
export interface KeyedUnsettled {
  readonly status: "running" | "unknown"
  readonly attempt: number
  readonly leaseEndsAt: number
}

export type BeginAnswer =
  | { readonly status: "claimed"; readonly claim: Claim; readonly attempt: number; readonly leaseEndsAt: number }
  | KeyedRecorded
  | KeyedUnsettled
  /** The key was used for other input. */
  | { readonly status: "mismatch" }

/** When an attempt ended, and until when the record is kept. */
export interface Ended {
  readonly status: "ended"
  readonly endedAt: number
  readonly expiresAt: number
}

export type EndAnswer =
  | Ended
  /** Its owner had recorded this outcome before; this is what was recorded. */
  | KeyedRecorded
  /** The claim is not the current one, or ended otherwise; nothing was changed. */
  | { readonly status: "stale" }

export type RenewAnswer = { readonly status: "renewed"; readonly leaseEndsAt: number } | { readonly status: "stale" }

export type ResolveAnswer = Ended | { readonly status: "not_unknown" }

export type ReadAnswer =
  | KeyedRecorded
  | KeyedUnsettled
  /** Nothing runs, and the next attempt may. */
  | {
      readonly status: "retryable"
      readonly attempt: number
      readonly endedAt: number
      readonly expiresAt: number
    }
  | { readonly status: "absent" }

/** Runs operations under keys of their callers' choosing. One call is one hop to one object. */
export interface KeyedLedgerClient {
  /**
   * Takes the operation for one attempt, or says what stands in the record. While another attempt runs, the call waits
   * up to `waitSeconds` (0..25, by default 0) for it to end.
   */
  begin(key: OperationKey, attempt: KeyedAttempt, waitSeconds?: number): Promise<BeginAnswer>
  /** Ends the claimed attempt, also past its lease while no other has begun; `rerun`: sure that nothing happened. */
  end(key: OperationKey, claim: Uint8Array, ending: Ending): Promise<EndAnswer>
  /** Lets the lease end so many seconds from now (1..900). A lease that has ended cannot be renewed. */
  renew(key: OperationKey, claim: Uint8Array, leaseSeconds: number): Promise<RenewAnswer>
  /**
   * Says what became of an attempt whose outcome is unknown; its owner can then say nothing more. Give the number of the
   * attempt that was looked into: by the time of the call another may have begun, and become unknown as well. Without
   * it, the call means whichever is unknown when it is made, which takes one more hop.
   */
  resolve(key: OperationKey, ending: Ending, attempt?: number): Promise<ResolveAnswer>
  /** Reads the record and changes nothing. */
  read(key: OperationKey): Promise<ReadAnswer>
}
