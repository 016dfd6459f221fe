import { randomBytes, randomUUID } from "node:crypto"
import { exportJWK, generateKeyPair, SignJWT } from "jose"

/** Who a token speaks for, and for which resource. */
export interface TokenOptions {
  /** The token's subject. */
  readonly principal: string
  /** The exact resource: `<origin>/mcp` or `<origin>/v1`. */
  readonly audience: string
  /** Default `acme`. */
  readonly tenant?: string
  readonly client?: string
  /** Default: the identity's own. */
  readonly issuer?: string
  /** Names separated by spaces; default `mcp projects:create`. */
  readonly scope?: string
  /** Seconds; default 3600, negative for a token that has expired. */
  readonly ttl?: number
}

/** An issuer of access tokens, and a Worker's settings that trust it. */
export interface TestIdentity {
  readonly issuer: string
  /** The settings that a Worker needs, with a fresh seal key. */
  readonly bindings: { readonly [setting in "SEAL_KEYS" | "AUTH_JWKS" | "AUTH_ISSUER" | "AUTH_TENANT_CLAIM"]: string }
  /** For tokens that {@link TestIdentity.token} would never make. */
  readonly signingKey: CryptoKey
  readonly kid: string
  token(options: TokenOptions): Promise<string>
}

const TENANT_CLAIM = "tenant"

/**
 * Makes an issuer with an ES256 key of its own. Each call makes another one: what one signs, the other's Worker refuses.
 *
 * @example
 * const identity = await makeIdentity()
 * const worker = await startWorker({ bindings: identity.bindings, storage })
 * const token = await identity.token({ principal: "alice", audience: `${worker.url}/mcp` })
 */
export async function makeIdentity(issuer = "https://issuer.test"): Promise<TestIdentity> {
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true })
  const kid = randomUUID()
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid, alg: "ES256", use: "sig" }] }
  return {
    issuer,
    bindings: {
      SEAL_KEYS: sealKeys(),
      AUTH_JWKS: JSON.stringify(jwks),
      AUTH_ISSUER: issuer,
      AUTH_TENANT_CLAIM: TENANT_CLAIM,
    },
    signingKey: privateKey,
    kid,
    token: ({
      principal,
      audience,
      tenant = "acme",
      client,
      scope = "mcp projects:create",
      ttl = 3_600,
      ...options
    }) => {
      const now = Math.floor(Date.now() / 1_000)
      return new SignJWT({ [TENANT_CLAIM]: tenant, scope, ...(client !== undefined && { client_id: client }) })
        .setProtectedHeader({ alg: "ES256", kid })
        .setIssuer(options.issuer ?? issuer)
        .setSubject(principal)
        .setAudience(audience)
        .setJti(randomUUID())
        .setIssuedAt(Math.min(now, now + ttl))
        .setExpirationTime(now + ttl)
        .sign(privateKey)
    },
  }
}

/** A ring of one fresh key that has been sealing for an hour. */
function sealKeys(): string {
  const sealsFrom = new Date(Date.now() - 3_600_000).toISOString()
  return JSON.stringify([{ key: randomBytes(32).toString("base64url"), sealsFrom }])
}
