import { z } from "zod"
import type { Principal, TenantId } from "../brands.ts"

/** Who calls, from a verified access token. */
export interface Identity {
  readonly tenant: TenantId
  readonly principal: Principal
  readonly scopes: ReadonlySet<string>
}

const LONGEST_NAME_BYTES = 512
const utf8 = new TextEncoder()

/** A lone surrogate has no bytes of its own: two such names could be told apart here and nowhere else. */
const Name = z
  .string()
  .min(1)
  .max(LONGEST_NAME_BYTES)
  .refine((name) => name.isWellFormed() && utf8.encode(name).length <= LONGEST_NAME_BYTES)

/** The claims of a verified token that say who calls; all others are somebody else's business. */
const Claims = z.object({
  iss: Name,
  sub: Name,
  client_id: Name.optional(),
  azp: Name.optional(),
  scope: z.string().optional(),
})

/**
 * Reads an identity from the claims of a token whose signature, issuer, audience and times have been verified.
 * `undefined` where a claim is missing or of the wrong kind, the tenant's too.
 *
 * The spellings are injective: a JSON array for the principal, so that no subject can pass for an issuer, and a prefix
 * for the tenant, so that a claim's value never meets an issuer. A refreshed token is the same principal.
 */
export function identityFromClaims(verified: unknown, tenantClaim: string | undefined): Identity | undefined {
  const claims = Claims.safeParse(verified)
  if (!claims.success) return undefined
  const { iss, sub, client_id, azp, scope } = claims.data
  const tenant = tenantClaim === undefined ? iss : claimedName(verified, tenantClaim)
  if (tenant === undefined) return undefined
  return {
    tenant: tenantNamed(tenant, tenantClaim),
    principal: JSON.stringify([iss, sub, client_id ?? azp ?? null]) as Principal,
    scopes: new Set(scope?.split(" ").filter((name) => name !== "")),
  }
}

/** The one caller of a Worker that runs without authentication; it holds every scope. */
export function anonymous(scopes: readonly string[]): Identity {
  return {
    tenant: "anonymous:" as TenantId,
    principal: JSON.stringify([]) as Principal,
    scopes: new Set(scopes),
  }
}

/** The tenant of that name: the configured claim's value, or where none is configured the issuer. */
export function tenantNamed(name: string, tenantClaim: string | undefined): TenantId {
  return `${tenantClaim === undefined ? "issuer" : "claim"}:${name}` as TenantId
}

const AnyClaims = z.record(z.string(), z.unknown())

function claimedName(verified: unknown, claim: string): string | undefined {
  return Name.safeParse(AnyClaims.safeParse(verified).data?.[claim]).data
}
