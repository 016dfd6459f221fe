import { Begun, Completed, Ended, Failed, Renewed, Standing } from "./answers.ts"
import { attemptOf } from "./attempt.ts"
import { WaxsealError } from "./errors.ts"
import type { CallOptions, Send } from "./http.ts"
import type {
  BeginRequest,
  CompleteRequest,
  FailRequest,
  ForPrincipal,
  RenewRequest,
  ResolveRequest,
} from "./requests.ts"

/**
 * The calls on one operation, whose key is yours: 1 to 255 visible ASCII characters, other than `.` and `..`. Each rejects
 * as all calls do: with `WaxsealError`, the reason of the signal that ended it, or what the token function threw.
 */
export interface OperationCalls {
  /**
   * Takes the operation for one attempt (`running`), or says what stands. Run the effect on `running` alone.
   *
   * Rejects with `operation_in_progress`, `operation_outcome_unknown`, `operation_mismatch`.
   */
  begin(key: string, request: BeginRequest, options?: CallOptions): Promise<Begun>
  /** Records the result; the same again gives what was recorded. Rejects with `stale_claim`, `result_too_large`. */
  complete(key: string, request: CompleteRequest, options?: CallOptions): Promise<Completed>
  /** Records that it failed, for good or so that the next begin runs. Rejects with `stale_claim`, `result_too_large`. */
  fail(key: string, request: FailRequest, options?: CallOptions): Promise<Failed>
  /** Lets the lease end so many seconds from now. Rejects with `stale_claim` once it has ended. */
  renew(key: string, request: RenewRequest, options?: CallOptions): Promise<Renewed>
  /**
   * Settles an unknown outcome; rejects with `not_unknown` where there is none. It is not made again by itself when its
   * answer is lost: by then another attempt's outcome may be the unknown one.
   */
  resolve(key: string, request: ResolveRequest, options?: CallOptions): Promise<Ended>
  /** Says what stands. Rejects with `unknown_operation`. */
  get(key: string, request?: ForPrincipal, options?: CallOptions): Promise<Standing>
}

export function createOperationCalls(send: Send): OperationCalls {
  return {
    begin: async (key, request, options) => {
      const { waitSeconds } = request
      return send({ ...post(key, "begin", attemptOf(request)), answer: Begun, repeatable: true, waitSeconds }, options)
    },
    complete: async (key, body, options) =>
      send({ ...post(key, "complete", body), answer: Completed, repeatable: true }, options),
    fail: async (key, body, options) => send({ ...post(key, "fail", body), answer: Failed, repeatable: true }, options),
    renew: async (key, body, options) =>
      send({ ...post(key, "renew", body), answer: Renewed, repeatable: true }, options),
    resolve: async (key, body, options) =>
      send({ ...post(key, "resolve", body), answer: Ended, repeatable: false }, options),
    get: async (key, { principal } = {}, options) => {
      const query = principal === undefined ? "" : `?${new URLSearchParams({ principal })}`
      return send({ method: "GET", path: `${pathOf(key)}${query}`, answer: Standing, repeatable: true }, options)
    },
  }
}

function post(key: string, verb: string, body: unknown) {
  return { method: "POST", path: `${pathOf(key)}/${verb}`, body } as const
}

/** URLs have no segments `.` and `..`, in whatever spelling. */
function pathOf(key: string): string {
  if (!/^[\x21-\x7e]{1,255}$/.test(key) || key === "." || key === "..") {
    throw new WaxsealError("invalid_parameter", "The key is not 1 to 255 visible ASCII characters other than . and ..")
  }
  return `/operations/${encodeURIComponent(key)}`
}
