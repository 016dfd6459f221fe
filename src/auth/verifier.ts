import { jwtVerify } from "jose"
import type { AuthSettings } from "../settings.ts"
import { anonymous, identityFromClaims } from "./identity.ts"
import { KeysUnavailable, keySource } from "./keys.ts"
import { API_SCOPES, MCP_SCOPES } from "./scopes.ts"
import { type Grant, VerifiedTokens } from "./verified-tokens.ts"

export type Verified =
  | ({ readonly ok: true } & Grant)
  /** RFC 6750 3.1: without credentials there is no error to name. */
  | { readonly ok: false; readonly problem: "no_token" | "invalid_token" | "keys_unavailable" }

/** Verifies the `Authorization` header of one request for one audience. */
export type Verifier = (authorization: string | null, audience: string) => Promise<Verified>

/** Asymmetric signatures only (RFC 8725 3.1, 3.2): no `none`, and no secret that a public key could be taken for. */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]

/** Clocks of issuer and edge may differ by this much. */
const CLOCK_TOLERANCE_SECONDS = 5

/** Makes the verifier of one configuration. Make it once: it remembers the issuer's keys and the tokens it verified. */
export function createVerifier(settings: AuthSettings): Verifier {
  if (settings.mode === "none") {
    const identity = anonymous([...MCP_SCOPES, ...API_SCOPES])
    return async () => ({ ok: true, identity, expiresAt: Number.POSITIVE_INFINITY })
  }
  const { issuer, tenantClaim } = settings
  const key = keySource(settings.keys)
  const verifiedTokens = new VerifiedTokens()

  async function verify(credentials: string, audience: string): Promise<Grant | undefined> {
    const { payload } = await jwtVerify(credentials, key, {
      issuer,
      audience,
      algorithms: ALGORITHMS,
      requiredClaims: ["exp", "sub"],
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
    })
    const identity = identityFromClaims(payload, tenantClaim)
    if (!identity || payload.exp === undefined) return undefined
    const grant = { identity, expiresAt: payload.exp * 1_000 }
    verifiedTokens.keep(credentials, audience, grant)
    return grant
  }

  return async (authorization, audience) => {
    const credentials = bearerToken(authorization)
    if (credentials === undefined) return { ok: false, problem: "no_token" }
    try {
      const grant = verifiedTokens.find(credentials, audience) ?? (await verify(credentials, audience))
      return grant ? { ok: true, ...grant } : { ok: false, problem: "invalid_token" }
    } catch (error) {
      return { ok: false, problem: error instanceof KeysUnavailable ? "keys_unavailable" : "invalid_token" }
    }
  }
}

/** The credentials of the scheme `Bearer` (RFC 6750 2.1), whose name ignores case (RFC 9110 11.1); else none. */
function bearerToken(authorization: string | null): string | undefined {
  const match = authorization?.match(/^Bearer(?:$| +(.*)$)/i)
  return match ? (match[1] ?? "") : undefined
}
