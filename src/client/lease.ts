import { pause } from "./pause.ts"

interface Terms {
  readonly leaseSeconds: number
  /** When the attempt was asked for, by `performance.now()`: its lease cannot end earlier than `leaseSeconds` from then. */
  readonly sentAt: number
  readonly renew: (leaseSeconds: number, options: { signal?: AbortSignal; timeoutMs?: number }) => Promise<unknown>
}

/** A lease that is renewed until it is stopped. */
export interface Lease {
  /** Fires, before another attempt can begin, when the lease could not be renewed; its reason says why. */
  readonly lost: AbortSignal
  /** Renews no more. */
  stop(): void
  /** Renews no more, and lets the lease end soon, so that others need not wait for it. */
  letGo(): Promise<void>
}

/** A renewal that fails has twice as long to be made again before the lease ends. */
const RENEWED_AFTER = 1 / 3
const SOON_SECONDS = 1
/** So long may it take to tell the API what only spares others a wait: whoever has an error at hand shall have it soon. */
export const COURTESY_MS = 2_000

/**
 * Holds the lease of an attempt. Its end is reckoned from before each request, by this machine's own monotonic clock:
 * earlier than the API's, however slow the answer.
 *
 * Rejects where the lease is over before it could be held, for an answer that took long.
 */
export async function holdLease({ leaseSeconds, sentAt, renew }: Terms): Promise<Lease> {
  const lost = new AbortController()
  const over = new AbortController()
  const leaseMs = leaseSeconds * 1_000
  let endsAt = sentAt + leaseMs

  async function extend(limit: { timeoutMs?: number }): Promise<void> {
    const askedAt = performance.now()
    await renew(leaseSeconds, { signal: over.signal, ...limit })
    endsAt = askedAt + leaseMs
  }

  async function keep(): Promise<void> {
    for (;;) {
      await pause(leaseMs * RENEWED_AFTER, over.signal)
      if (over.signal.aborted) return
      await extend({ timeoutMs: Math.ceil(Math.max(endsAt - performance.now(), 1)) })
    }
  }

  // The answer took long: it waited for another attempt, or was lost and asked for again.
  if (performance.now() - sentAt > leaseMs * RENEWED_AFTER) await extend({})
  keep().catch((error) => {
    if (!over.signal.aborted) lost.abort(error)
  })
  return {
    lost: lost.signal,
    stop: () => over.abort(),
    letGo: async () => {
      over.abort()
      await renew(SOON_SECONDS, { timeoutMs: COURTESY_MS }).catch(() => undefined)
    },
  }
}
