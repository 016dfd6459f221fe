import { createLocalJWKSet, errors, type JWTVerifyGetKey } from "jose"
import { z } from "zod"
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

/** A fetched key set; the last good one serves while the provider is down or says nothing of use. */
function remoteKeys(url: URL): JWTVerifyGetKey {
  let keys: JWTVerifyGetKey | undefined
  let fetching = false
  let triedAt = Number.NEGATIVE_INFINITY
  let failedAt = Number.NEGATIVE_INFINITY

  async function refresh(): Promise<void> {
    triedAt = Date.now()
    fetching = true
    const fetched = await fetchKeys(url)
    fetching = false
    if (fetched) keys = fetched
    else failedAt = Date.now()
  }

  /** The request that fetches may be gone, and its fetch with it: nobody waits longer than one may take. */
  function isRefreshing(): boolean {
    return fetching && Date.now() - triedAt < TIMEOUT_MS
  }

  /** Waits for another request's fetch. By looking: the platform ties a promise of I/O to the request that made it. */
  async function refreshed(): Promise<void> {
    while (isRefreshing()) await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }

  async function current(): Promise<JWTVerifyGetKey> {
    if (!keys) await refreshed()
    if (!keys && Date.now() - failedAt < RECOVERY_MS) throw new KeysUnavailable()
    if (!keys || Date.now() - triedAt > MAX_AGE_MS) await refresh()
    if (!keys) throw new KeysUnavailable()
    return keys
  }

  return async (header, token) => {
    const known = await current()
    try {
      return await known(header, token)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      if (isRefreshing()) await refreshed()
      else if (Date.now() - triedAt < COOL_DOWN_MS) throw error
      else await refresh()
      return (keys ?? known)(header, token)
    }
  }
}

const KeySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) })

/** Public keys alone are of use here: a set without any is no better than none. */
const ASYMMETRIC: readonly string[] = ["RSA", "EC", "OKP"]

async function fetchKeys(url: URL): Promise<JWTVerifyGetKey | undefined> {
  try {
    const headers = { Accept: "application/jwk-set+json, application/json" }
    const response = await fetch(url, { headers, redirect: "manual", signal: AbortSignal.timeout(TIMEOUT_MS) })
    if (response.status !== 200) return undefined
    const keys = KeySet.parse(await response.json()).keys.filter(({ kty }) => ASYMMETRIC.includes(kty))
    return keys.length > 0 ? createLocalJWKSet({ keys }) : undefined
  } catch {
    return undefined
  }
}
