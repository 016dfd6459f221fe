/*
 * The peer of the sealing API: a bare itty-router route that makes the same check of the access token, parses the same
 * body and sends it back. It validates, seals and limits nothing: what it does is what any JSON API must do.
 */
import { type IRequest, IttyRouter } from "itty-router"
import { createLocalJWKSet, type JWTVerifyGetKey, jwtVerify } from "jose"

interface Env {
  readonly AUTH_JWKS: string
  readonly AUTH_ISSUER: string
  readonly PUBLIC_URL: string
}

/** When tokens that were verified a moment ago expire, as our Worker remembers them; in milliseconds since 1970. */
const verified = new Map<string, number>()
const REMEMBERED = 4_096

let keys: JWTVerifyGetKey | undefined

const router = IttyRouter<IRequest, [Env], Response>().post("/v1/:call", async (request, env) => {
  if (!(await isGood(request.headers.get("authorization"), env))) return new Response(null, { status: 401 })
  return Response.json(await request.json())
})

export default {
  fetch: (request: Request, env: Env) => router.fetch(request, env),
}

async function isGood(authorization: string | null, env: Env): Promise<boolean> {
  const token = /^bearer +(\S+)$/i.exec(authorization ?? "")?.[1]
  if (token === undefined) return false
  if ((verified.get(token) ?? 0) > Date.now()) return true
  keys ??= createLocalJWKSet(JSON.parse(env.AUTH_JWKS))
  const { payload } = await jwtVerify(token, keys, {
    issuer: env.AUTH_ISSUER,
    audience: `${env.PUBLIC_URL}/v1`,
    algorithms: ["RS256", "PS256", "ES256", "EdDSA"],
    requiredClaims: ["exp", "sub"],
    clockTolerance: 5,
  })
  if (verified.size >= REMEMBERED) verified.clear()
  verified.set(token, (payload.exp ?? 0) * 1_000)
  return true
}
