import { createLocalJWKSet, createRemoteJWKSet, errors, type JWTVerifyGetKey, jwtVerify } from "jose"
import type { AuthSettings } from "../settings.ts"
import { anonymous, type Identity, identityFromClaims } from "./identity.ts"
import { MCP_SCOPES } from "./scopes.ts"

export type Verified =
  | { readonly ok: true; readonly identity: Identity }
  /** RFC 6750 3.1: without credentials there is no error to name. */
  | { readonly ok: false; readonly problem: "no_token" | "invalid_token" | "keys_unavailable" }

/** Verifies the `Authorization` header of one request for one audience. */
export type Verifier = (authorization: string | null, audience: string) => Promise<Verified>

/** Asymmetric signatures only (RFC 8725 3.1, 3.2): no `none`, and no secret that a public key could be taken for. */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]

/** Clocks of issuer and edge may differ by this much. */
const CLOCK_TOLERANCE_SECONDS = 5

/** Makes the verifier of one configuration; it holds the cache of the issuer's keys, so make it once. */
export function createVerifier(settings: AuthSettings): Verifier {
  if (settings.mode === "none") return async () => ({ ok: true, identity: anonymous(MCP_SCOPES) })
  const { issuer, tenantClaim } = settings
  const key = keySource(settings.keys)
  return async (authorization, audience) => {
    const credentials = bearerToken(authorization)
    if (credentials === undefined) return { ok: false, problem: "no_token" }
    try {
      const { payload } = await jwtVerify(credentials, key, {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        requiredClaims: ["exp", "sub"],
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
      })
      const identity = identityFromClaims(payload, tenantClaim)
      return identity ? { ok: true, identity } : { ok: false, problem: "invalid_token" }
    } catch (error) {
      return { ok: false, problem: error instanceof KeysUnavailable ? "keys_unavailable" : "invalid_token" }
    }
  }
}

/** The issuer's key set cannot be fetched or read: no fault of the token's. */
class KeysUnavailable extends Error {}

function keySource(keys: Extract<AuthSettings, { mode: "jwt" }>["keys"]): JWTVerifyGetKey {
  switch (keys.kind) {
    case "inline":
      return createLocalJWKSet(keys.set)
    case "remote":
      return remoteKeys(keys.url)
  }
}

function remoteKeys(url: URL): JWTVerifyGetKey {
  const find = createRemoteJWKSet(url)
  return async (header, token) => {
    try {
      return await find(header, token)
    } catch (error) {
      throw isAboutTheToken(error) ? error : new KeysUnavailable()
    }
  }
}

function isAboutTheToken(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  )
}

/** The credentials of the scheme `Bearer` (RFC 6750 2.1), whose name ignores case (RFC 9110 11.1); else none. */
function bearerToken(authorization: string | null): string | undefined {
  const match = authorization?.match(/^Bearer(?:$| +(.*)$)/i)
  return match ? (match[1] ?? "") : undefined
}
