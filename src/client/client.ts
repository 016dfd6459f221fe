import type { Json } from "../brands.ts"
import { BatchAnswers, type KeyListing, Keys, Opened, Redeemed, Sealed } from "./answers.ts"
import { answerTo, attemptOf } from "./attempt.ts"
import { type BatchResult, batchBody, batchResults } from "./batch.ts"
import { type CallOptions, type ClientOptions, createSend } from "./http.ts"
import { createOperationCalls, type OperationCalls } from "./operations.ts"
import type { BatchRequest, OpenRequest, RedeemRequest, RunRequest, SealRequest } from "./requests.ts"
import { type RunOptions, run, type Work } from "./run.ts"

/** Operations under keys of the caller's own, step by step or whole. Times are RFC 3339, durations seconds. */
export interface Operations extends OperationCalls {
  /**
   * Runs an operation once, among all who run it under this key, and gives its recorded result: begins, holds the lease
   * while the work goes on, records the outcome. Run again, it gives what is recorded; while another attempt works, it
   * waits `waitSeconds` for its outcome.
   *
   * Rejects with `WaxsealError`: `operation_failed` (for good, or `retryable`), `operation_outcome_unknown` (an attempt
   * vanished: find out, then `resolve`), `operation_in_progress`, `operation_mismatch`, `result_omitted` (a
   * repeat of one whose result could not be kept), `stale_claim` (it worked past its lease, and another began).
   * What the work itself throws is passed on, and leaves the outcome unknown, unless it is an `OperationFailure`.
   *
   * @example
   * const invoice = await client.operations.run("order-7", { fingerprint: "three of A-113" }, async ({ signal }) => {
   *   const answer = await fetch(billing, { method: "POST", body: order, headers: { "idempotency-key": "order-7" }, signal })
   *   if (answer.status === 409) throw new OperationFailure("out of stock")
   *   return answer.json()
   * })
   */
  run(key: string, request: RunRequest, work: Work, options?: RunOptions): Promise<Json>
}

/**
 * The sealing API, call by call; docs/api.md says what each does. Each rejects with `WaxsealError`, with the reason of the
 * signal that ended it, or with what the token function threw. Calls are made again, for as long as they may take, where
 * they cannot do anything twice.
 */
export interface Client {
  /** Seals a state. Rejects with `rounds_exceeded` and `invalid_request_state` where it continues another. */
  seal(request: SealRequest, options?: CallOptions): Promise<Sealed>
  /** Opens a state and consumes nothing. Rejects with `invalid_request_state`. */
  open(request: OpenRequest, options?: CallOptions): Promise<Opened>
  /**
   * Spends the state's operation, right before the effect. Rejects with `already_redeemed` and `invalid_request_state`.
   * Without an `attemptId` of yours it resolves only for the call that spent it, and `replayed` is always `false`.
   */
  redeem(request: RedeemRequest, options?: CallOptions): Promise<Redeemed>
  /** Up to 100 of these in one request: the results, each of its own, in order. */
  batch(requests: readonly BatchRequest[], options?: CallOptions): Promise<BatchResult[]>
  /** The keys of the ring, oldest first. */
  keys(options?: CallOptions): Promise<KeyListing[]>
  /** Operations that run once under a key, with no state to carry. */
  readonly operations: Operations
}

/**
 * Makes a client. It keeps no connection and no state of its own; make one and share it.
 *
 * @example
 * const client = createClient({ url: "https://waxseal.example.com", token: () => tokens.current() })
 * const { requestState } = await client.seal({ state: { cost: 40 }, principal: "user_123", request })
 *
 * @throws TypeError where `url` is none, or holds a user, password, query or fragment; or where `timeoutMs` is no time
 */
export function createClient(options: ClientOptions): Client {
  const send = createSend(options)
  const calls = createOperationCalls(send)
  return {
    seal: (body, options) => send({ ...post("/seal", body), answer: Sealed, repeatable: true }, options),
    open: (body, options) => send({ ...post("/open", body), answer: Opened, repeatable: true }, options),
    async redeem(request, options) {
      const call = { ...post("/redeem", attemptOf(request)), answer: Redeemed, repeatable: true }
      return answerTo(request, await send(call, options))
    },
    async batch(requests, options) {
      const call = { ...post("/batch", batchBody(requests)), answer: BatchAnswers, repeatable: true }
      return batchResults(requests, await send(call, options))
    },
    async keys(options) {
      return (await send({ method: "GET", path: "/keys", answer: Keys, repeatable: true }, options)).keys
    },
    operations: {
      ...calls,
      run: (key, request, work, options = {}) => run(calls, key, request, work, options),
    },
  }
}

function post(path: string, body: unknown) {
  return { method: "POST", path, body } as const
}
