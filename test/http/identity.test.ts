import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SignJWT, UnsecuredJWT } from "jose"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeIdentity, type TestIdentity } from "../support/identity.ts"
import { call, resultOf } from "../support/mcp.ts"
import { type Running, startWorker } from "../support/workerd.ts"

let identity: TestIdentity
let storage: string
let worker: Running
let audience: string

beforeAll(async () => {
  identity = await makeIdentity()
  storage = await mkdtemp(join(tmpdir(), "waxseal-"))
  worker = await startWorker({ bindings: identity.bindings, storage })
  audience = `${worker.url}/mcp`
})

afterAll(async () => {
  await worker.stop()
  await rm(storage, { recursive: true, force: true })
})

const list = (authorization?: string) =>
  call(audience, { method: "tools/call", name: "list_created", arguments: {}, headers: { authorization } })

type Claims = Record<string, unknown>

/** Whatever claims, signed with the issuer's key. */
function sign(claims: Claims, header: Record<string, unknown> = {}): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: "ES256", kid: identity.kid, ...header })
    .sign(identity.signingKey)
}

function goodClaims(changes: Claims = {}): Claims {
  const now = Math.floor(Date.now() / 1_000)
  const claims = {
    iss: identity.issuer,
    sub: "alice",
    aud: audience,
    tenant: "acme",
    scope: "mcp",
    iat: now,
    exp: now + 60,
  }
  return Object.fromEntries(Object.entries({ ...claims, ...changes }).filter(([, value]) => value !== undefined))
}

describe("without a token", () => {
  it("the challenge names the metadata and no error", async () => {
    for (const authorization of [undefined, "", "Basic YTpi"]) {
      const { status, headers } = await list(authorization)
      expect(status).toBe(401)
      expect(headers.get("www-authenticate")).toBe(
        `Bearer resource_metadata="${worker.url}/.well-known/oauth-protected-resource/mcp"`,
      )
    }
  })

  it("the metadata resolves, and its resource is the endpoint", async () => {
    const response = await fetch(`${worker.url}/.well-known/oauth-protected-resource/mcp`)
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({
      resource: audience,
      authorization_servers: [identity.issuer],
      bearer_methods_supported: ["header"],
      scopes_supported: ["mcp", "projects:create"],
    })
  })

  it("health and the front page are open", async () => {
    expect(await (await fetch(`${worker.url}/healthz`)).json()).toEqual({ status: "ok", version: expect.any(String) })
    expect((await fetch(worker.url)).status).toBe(200)
  })
})

describe("a good token", () => {
  it.each(["Bearer ", "bearer ", "BEARER ", "Bearer  "])("works under the scheme %j", async (scheme) => {
    const answer = await list(`${scheme}${await sign(goodClaims())}`)
    expect(resultOf(answer).isError).toBeFalsy()
  })

  it("may be for several resources, one of which is this one", async () => {
    expect((await list(`Bearer ${await sign(goodClaims({ aud: ["https://other.test", audience] }))}`)).status).toBe(200)
  })

  it("may say anything in its other claims", async () => {
    const claims = goodClaims({ sub: 'a"b\r\nc', client_id: "x\u0000y", name: "\ud83d\ude00" })
    expect((await list(`Bearer ${await sign(claims)}`)).status).toBe(200)
  })
})

describe("a bad token", () => {
  const hour = 3_600
  const bad: [string, () => Promise<string> | string][] = [
    ["garbage", () => "garbage"],
    ["three parts of garbage", () => "a.b.c"],
    ["nothing after the scheme", () => ""],
    ["two tokens", async () => `${await sign(goodClaims())} ${await sign(goodClaims())}`],
    ["no signature (alg none)", () => new UnsecuredJWT(goodClaims()).encode()],
    ["the public key as an HMAC secret", signedWithPublicKey],
    ["another issuer's key", signedByAnother],
    ["an unknown key", () => sign(goodClaims(), { kid: "unknown" })],
    ["a changed payload", changedPayload],
    ["no issuer", () => sign(goodClaims({ iss: undefined }))],
    ["another issuer", () => sign(goodClaims({ iss: "https://evil.test" }))],
    ["no audience", () => sign(goodClaims({ aud: undefined }))],
    ["a foreign audience", () => sign(goodClaims({ aud: "https://evil.test/mcp" }))],
    ["the sealing API's audience", () => sign(goodClaims({ aud: `${worker.url}/v1` }))],
    ["an audience that begins alike", () => sign(goodClaims({ aud: `${audience}/more` }))],
    ["no expiry", () => sign(goodClaims({ exp: undefined }))],
    ["an expiry that is a string", () => sign(goodClaims({ exp: "9999999999" }))],
    ["an expiry in the past", () => sign(goodClaims({ exp: Math.floor(Date.now() / 1_000) - hour }))],
    ["an expiry a moment ago", () => sign(goodClaims({ exp: Math.floor(Date.now() / 1_000) - 20 }))],
    ["a beginning in the future", () => sign(goodClaims({ nbf: Math.floor(Date.now() / 1_000) + hour }))],
    ["no subject", () => sign(goodClaims({ sub: undefined }))],
    ["a subject that is a number", () => sign(goodClaims({ sub: 7 }))],
    ["no tenant", () => sign(goodClaims({ tenant: undefined }))],
    ["a tenant that is a list", () => sign(goodClaims({ tenant: ["acme"] }))],
    ["an empty tenant", () => sign(goodClaims({ tenant: "" }))],
  ]

  it.each(bad)("is refused: %s", async (_what, make) => {
    const { status, headers, body } = await list(`Bearer ${await make()}`)
    expect(status).toBe(401)
    expect(headers.get("www-authenticate")).toMatch(/^Bearer error="invalid_token", resource_metadata="http/)
    expect(body).toMatchObject({ error: "invalid_token" })
  })

  async function signedWithPublicKey(): Promise<string> {
    const secret = new TextEncoder().encode(identity.bindings.AUTH_JWKS)
    return new SignJWT(goodClaims()).setProtectedHeader({ alg: "HS256", kid: identity.kid }).sign(secret)
  }

  async function signedByAnother(): Promise<string> {
    const { signingKey } = await makeIdentity()
    return new SignJWT(goodClaims()).setProtectedHeader({ alg: "ES256", kid: identity.kid }).sign(signingKey)
  }

  async function changedPayload(): Promise<string> {
    const [header, , signature] = (await sign(goodClaims())).split(".")
    const payload = Buffer.from(JSON.stringify(goodClaims({ sub: "mallory" }))).toString("base64url")
    return `${header}.${payload}.${signature}`
  }
})

describe("scopes", () => {
  it.each([undefined, "", "mcp:read-all", "mcpx other", "projects:create"])("%j is not mcp", async (scope) => {
    const { status, headers } = await list(`Bearer ${await sign(goodClaims({ scope }))}`)
    expect(status).toBe(403)
    expect(headers.get("www-authenticate")).toBe(
      `Bearer error="insufficient_scope", scope="mcp", resource_metadata="${worker.url}/.well-known/oauth-protected-resource/mcp"`,
    )
  })
})

describe("tenants", () => {
  /** A deployment on one state, for as long as `use` takes. */
  async function deployed<Result>(bindings: Record<string, string>, use: (url: string) => Promise<Result>) {
    const other = await startWorker({ bindings, storage: join(storage, "tenants") })
    return use(`${other.url}/mcp`).finally(() => other.stop())
  }

  async function create(url: string, token: string): Promise<void> {
    const request = { token, method: "tools/call", name: "provision_database", arguments: { name: "orders" } }
    const { requestState = "" } = resultOf(await call(url, request))
    const inputResponses = { region: { action: "accept", content: { region: "eu-west-1" } } }
    const { structuredContent } = resultOf(await call(url, { ...request, inputResponses, requestState }))
    expect(structuredContent).toMatchObject({ status: "completed" })
  }

  async function databases(url: string, token: string): Promise<unknown> {
    const answer = await call(url, { token, method: "tools/call", name: "list_created", arguments: {} })
    return resultOf(answer).structuredContent?.["databases"]
  }

  it("are the issuer where no claim is configured, and never meet a claim's value", async () => {
    const { AUTH_TENANT_CLAIM: _, ...withoutClaim } = identity.bindings
    await deployed(identity.bindings, async (url) => {
      const token = await sign(goodClaims({ aud: url, tenant: identity.issuer }))
      await create(url, token)
      expect(await databases(url, token)).toHaveLength(1)
    })
    await deployed(withoutClaim, async (url) => {
      const token = await sign(goodClaims({ aud: url, tenant: undefined }))
      expect(await databases(url, token)).toEqual([])
    })
  })
})
