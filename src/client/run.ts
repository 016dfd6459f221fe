import type { Json } from "../brands.ts"
import type { Begun, Completed, Failed } from "./answers.ts"
import { OperationFailure, WaxsealError } from "./errors.ts"
import { COURTESY_MS, holdLease, type Lease } from "./lease.ts"
import type { OperationCalls } from "./operations.ts"
import { unlessAborted } from "./pause.ts"
import type { RunRequest } from "./requests.ts"

const DEFAULT_LEASE_SECONDS = 30
const DEFAULT_WAIT_SECONDS = 25

/** What the work of an operation is given. */
export interface Working {
  /** Fires when the caller's own signal does, and when the lease cannot be held: stop then, for another may begin. */
  readonly signal: AbortSignal
  /** Counted from 1. Above it: the one before failed retryably, was resolved so, or vanished under `rerun`. */
  readonly attempt: number
}

/** Throws `OperationFailure` where nothing happened for sure. `undefined` is recorded as `null`. */
export type Work = (working: Working) => Promise<Json | undefined>

/** What ends a run early. */
export interface RunOptions {
  /** Ends the wait for another attempt, and is passed on to the work. */
  readonly signal?: AbortSignal | undefined
}

type Own = Extract<Begun, { status: "running" }>

/**
 * Runs an operation once, among all who run it under this key, and gives its recorded result.
 *
 * Invariant: an attempt that was taken and did no work is given back, whatever ended it; one whose work threw says nothing
 * of its outcome, because what threw may have happened, and lets its lease end soon.
 */
export async function run(
  calls: OperationCalls,
  key: string,
  request: RunRequest,
  work: Work,
  { signal }: RunOptions,
): Promise<Json> {
  const attempts = attemptsAt(calls, key, request)
  const sentAt = performance.now()
  const begun = await attempts.begin(signal)
  switch (begun.status) {
    case "completed":
      return resultOf(begun)
    case "failed":
      throw failureOf(begun)
    case "running": {
      const lease = await attempts.hold(begun, sentAt, signal)
      try {
        const { attempt } = begun
        return await attempts.end(begun, lease, () => work({ signal: eitherOf(lease.lost, signal), attempt }))
      } finally {
        lease.stop()
      }
    }
  }
}

/** The steps of an attempt at one operation. */
function attemptsAt(calls: OperationCalls, key: string, request: RunRequest) {
  const { principal, leaseSeconds = DEFAULT_LEASE_SECONDS, waitSeconds = DEFAULT_WAIT_SECONDS } = request
  const owner = principal === undefined ? {} : { principal }

  /** It did nothing. Where this fails, the lease ends by itself, and what the attempt came to is unknown. */
  async function giveBack(begun: Begun): Promise<void> {
    if (begun.status !== "running") return
    const nothing = { claim: begun.claim, error: "Nothing was begun.", retryable: true, ...owner }
    await calls.fail(key, nothing, { timeoutMs: COURTESY_MS }).catch(() => undefined)
  }

  /** What has run is recorded, with its result or without, and so never runs again. */
  async function completed(claim: string, result: Json): Promise<Json> {
    try {
      return resultOf(await calls.complete(key, { claim, result, ...owner }))
    } catch (error) {
      if (!cannotBeKept(error)) throw error
      await calls.complete(key, { claim, resultOmitted: true, ...owner })
      return result
    }
  }

  async function failed(claim: string, thrown: OperationFailure): Promise<WaxsealError> {
    const { error, retryable } = thrown
    try {
      return failureOf(await calls.fail(key, { claim, error, retryable, ...owner }), thrown)
    } catch (refused) {
      if (!cannotBeKept(refused)) throw refused
      const recorded = await calls.fail(key, { claim, errorOmitted: true, retryable, ...owner })
      return failureOf({ ...recorded, error }, thrown)
    }
  }

  return {
    async begin(signal: AbortSignal | undefined): Promise<Begun> {
      signal?.throwIfAborted()
      const beginning = calls.begin(key, { ...request, waitSeconds, leaseSeconds })
      if (!signal) return beginning
      try {
        return await unlessAborted(beginning, signal)
      } catch (error) {
        if (signal.aborted) beginning.then(giveBack, () => undefined)
        throw error
      }
    },

    async hold(own: Own, sentAt: number, signal: AbortSignal | undefined): Promise<Lease> {
      const { claim } = own
      let lease: Lease | undefined
      try {
        lease = await holdLease({
          leaseSeconds,
          sentAt,
          renew: (seconds, options) => calls.renew(key, { claim, leaseSeconds: seconds, ...owner }, options),
        })
        signal?.throwIfAborted()
        return lease
      } catch (error) {
        lease?.stop()
        await giveBack(own)
        throw error
      }
    },

    async end({ claim }: Own, lease: Lease, work: () => Promise<Json | undefined>): Promise<Json> {
      let result: Json
      try {
        result = (await work()) ?? null
      } catch (thrown) {
        if (thrown instanceof OperationFailure) throw await failed(claim, thrown)
        await lease.letGo()
        throw thrown
      }
      return completed(claim, result)
    },
  }
}

const KEPT_WITHOUT: ReadonlySet<string> = new Set(["body_too_large", "invalid_body", "body_too_slow"])

/**
 * It is what was to be recorded that the API, or what stands before it, will not take: too large, too deep, no JSON; or
 * too slow on its way, until the time was up.
 */
function cannotBeKept(error: unknown): boolean {
  if (!(error instanceof WaxsealError)) return false
  if (error.code === "timed_out") return cannotBeKept(error.cause)
  return error.status === 413 || KEPT_WITHOUT.has(error.code)
}

function eitherOf(lost: AbortSignal, signal: AbortSignal | undefined): AbortSignal {
  return signal ? AbortSignal.any([signal, lost]) : lost
}

function resultOf({ result }: Completed): Json {
  if (result !== undefined) return result
  throw new WaxsealError(
    "result_omitted",
    "The operation is completed, and its result is not kept; do not run it again.",
  )
}

function failureOf({ error: failure, retryable }: Failed, cause?: OperationFailure): WaxsealError {
  const next = retryable ? "nothing happened, so run it again." : "it will not run again."
  return new WaxsealError("operation_failed", `The operation failed; ${next}`, { failure, retryable }, { cause })
}
