import { createLocalJWKSet, createRemoteJWKSet, errors, type JWTVerifyGetKey } from "jose"
import type { AuthSettings } from "../settings.ts"

/** A key set is fetched again after this time, so that a key that was withdrawn is forgotten. */
const MAX_AGE_MS = 600_000
/** A `kid` that is not in the set has it fetched again, but not more often than this. */
const COOL_DOWN_MS = 30_000
/** After a fetch that failed, while there is no set at all, nobody tries again for this time. */
const RECOVERY_MS = 2_000
const TIMEOUT_MS = 3_000
const POLL_MS = 25

/** The issuer's key set cannot be had: no fault of the token's. */
export class KeysUnavailable extends Error {}

/** Finds the key that a token names among the issuer's. */
export function keySource(keys: Extract<AuthSettings, { mode: "jwt" }>["keys"]): JWTVerifyGetKey {
  switch (keys.kind) {
    case "inline":
      return createLocalJWKSet(keys.set)
    case "remote":
      return remoteKeys(keys.url)
  }
}

/** A fetched key set; the last good one serves while the provider is down. */
function remoteKeys(url: URL): JWTVerifyGetKey {
  const keys = createRemoteJWKSet(url, {
    cacheMaxAge: Number.POSITIVE_INFINITY,
    cooldownDuration: Number.POSITIVE_INFINITY,
    timeoutDuration: TIMEOUT_MS,
  })
  let loaded = false
  let refreshing = false
  let triedAt = Number.NEGATIVE_INFINITY
  let failedAt = Number.NEGATIVE_INFINITY

  async function refresh(): Promise<void> {
    triedAt = Date.now()
    refreshing = true
    try {
      await keys.reload()
      loaded = true
    } catch {
      failedAt = Date.now()
    } finally {
      refreshing = false
    }
  }

  /**
   * Waits for another request's fetch. By looking, because the platform ties a promise of I/O to the request that made it,
   * and for no longer than a fetch may take, because that request may be gone.
   */
  async function refreshed(): Promise<void> {
    while (refreshing && Date.now() - triedAt < TIMEOUT_MS) await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }

  return async (header, token) => {
    if (!loaded && Date.now() - failedAt < RECOVERY_MS) throw new KeysUnavailable()
    if (!loaded || Date.now() - triedAt > MAX_AGE_MS) await refresh()
    if (!loaded) throw new KeysUnavailable()
    try {
      return await keys(header, token)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      if (refreshing) await refreshed()
      else if (Date.now() - triedAt < COOL_DOWN_MS) throw error
      else await refresh()
      return keys(header, token)
    }
  }
}
