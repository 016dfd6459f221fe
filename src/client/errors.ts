import type { Json } from "../brands.ts"

/** What `/v1` answers with; docs/api.md says when. */
export const API_CODES = [
  "bad_request",
  "invalid_json",
  "invalid_body",
  "invalid_parameter",
  "unauthorized",
  "invalid_token",
  "insufficient_scope",
  "origin_not_allowed",
  "not_found",
  "unknown_operation",
  "method_not_allowed",
  "body_too_slow",
  "operation_in_progress",
  "operation_outcome_unknown",
  "already_redeemed",
  "stale_claim",
  "not_unknown",
  "body_too_large",
  "result_too_large",
  "unsupported_media_type",
  "invalid_request_state",
  "rounds_exceeded",
  "operation_mismatch",
  "rate_limited",
  "internal",
  "misconfigured",
  "keys_unavailable",
  "overloaded",
] as const

/** Stable: switch over them. */
export type WaxsealErrorCode =
  | (typeof API_CODES)[number]
  /** No answer came in time, and what the call does may have happened; or no token came, and nothing was sent. */
  | "timed_out"
  /** The connection failed. What the call does may have happened. */
  | "unreachable"
  /** Something answered that does not speak as the API does: a proxy, or an API of another version. */
  | "unexpected_answer"
  /** The access token cannot stand in a header: it is empty, or has characters that no token has. Nothing was sent. */
  | "unusable_token"
  /** `operations.run`: the operation failed, now or before; `failure` says why, `retryable` whether it may run again. */
  | "operation_failed"
  /** `operations.run`: the operation is completed, and its result is not kept. */
  | "result_omitted"

/** What an error says beside its code; what does not apply is absent. */
export interface WaxsealErrorDetails {
  /** The HTTP status, where an answer came. */
  readonly status?: number | undefined
  /** Of `invalid_request_state`: for your log, not for your users. */
  readonly reason?: string | undefined
  /** When it may be worth trying again. */
  readonly retryAfterSeconds?: number | undefined
  /** Of `already_redeemed`: RFC 3339. */
  readonly redeemedAt?: string | undefined
  /** Of `operation_in_progress`: RFC 3339. */
  readonly leaseEndsAt?: string | undefined
  /** Of `invalid_body` and `invalid_parameter`: what does not fit, and where. */
  readonly errors?: readonly { readonly path: string; readonly message: string }[] | undefined
  /** Of `operation_failed`: the recorded error, where it is kept. */
  readonly failure?: Json | undefined
  /** Of `operation_failed`: nothing happened, and the next run may succeed. */
  readonly retryable?: boolean | undefined
}

/**
 * Whatever goes wrong between here and the API, by its `code`. The message is for people and quotes no state, token or
 * answer.
 *
 * @example
 * try {
 *   await client.redeem(sent)
 * } catch (error) {
 *   if (error instanceof WaxsealError && error.code === "already_redeemed") return "This was already done."
 *   throw error
 * }
 */
export class WaxsealError extends Error implements WaxsealErrorDetails {
  override readonly name = "WaxsealError"
  readonly code: WaxsealErrorCode
  readonly status: number | undefined
  readonly reason: string | undefined
  readonly retryAfterSeconds: number | undefined
  readonly redeemedAt: string | undefined
  readonly leaseEndsAt: string | undefined
  readonly errors: WaxsealErrorDetails["errors"]
  readonly failure: Json | undefined
  readonly retryable: boolean | undefined

  constructor(code: WaxsealErrorCode, message: string, details: WaxsealErrorDetails = {}, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.status = details.status
    this.reason = details.reason
    this.retryAfterSeconds = details.retryAfterSeconds
    this.redeemedAt = details.redeemedAt
    this.leaseEndsAt = details.leaseEndsAt
    this.errors = details.errors
    this.failure = details.failure
    this.retryable = details.retryable
  }
}

/** The code of whatever was thrown; none where it was not thrown here. */
export function codeOf(thrown: unknown): WaxsealErrorCode | undefined {
  return thrown instanceof WaxsealError ? thrown.code : undefined
}

/**
 * Thrown by the work of `operations.run` that is sure that nothing happened: final, or with `retryable` so that the next
 * run tries again. Whatever else the work throws leaves the outcome unknown.
 *
 * @example throw new OperationFailure({ message: "out of stock" })
 */
export class OperationFailure extends Error {
  override readonly name = "OperationFailure"
  /** At most 1 MiB of JSON is kept, and told to whoever runs the operation again. */
  readonly error: Json
  readonly retryable: boolean

  constructor(error: Json, { retryable = false }: { readonly retryable?: boolean } = {}) {
    super("The operation failed.")
    this.error = error
    this.retryable = retryable
  }
}
