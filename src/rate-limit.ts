import type { Principal } from "./brands.ts"

/** The period of every limit in wrangler.toml: whoever waits for so long may call again. */
export const PERIOD_SECONDS = 10

/** Counts one call of a principal and says whether it may pass. */
export type RateLimiter = (principal: Principal) => Promise<boolean>

/**
 * A limit by the platform's own counters, which cost no object and no write. They are counted a location and are
 * generous at their edges: they bound load and cost, and no promise of this service rests on them. Without the binding
 * there is no limit.
 */
export function createRateLimiter(binding: RateLimit | undefined): RateLimiter {
  return async (principal) => binding === undefined || (await binding.limit({ key: principal })).success
}
