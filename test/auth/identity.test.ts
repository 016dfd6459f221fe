import { describe, expect, it } from "vitest"
import { identityFromClaims } from "../../src/auth/identity.ts"
import { tenantNamed } from "../../src/auth/index.ts"

const CLAIMS = { iss: "https://issuer.test", sub: "alice", tenant: "acme", scope: "mcp  projects:create " }

describe("an identity", () => {
  it("has the token's tenant, principal and scopes", () => {
    expect(identityFromClaims(CLAIMS, "tenant")).toEqual({
      tenant: "claim:acme",
      principal: '["https://issuer.test","alice",null]',
      scopes: new Set(["mcp", "projects:create"]),
    })
  })

  it("takes the issuer as tenant where no claim is configured, and never mistakes one for the other", () => {
    expect(identityFromClaims(CLAIMS, undefined)?.tenant).toBe("issuer:https://issuer.test")
    expect(identityFromClaims({ ...CLAIMS, tenant: "https://issuer.test" }, "tenant")?.tenant).not.toBe(
      tenantNamed("https://issuer.test", undefined),
    )
  })

  it("distinguishes clients, and prefers client_id to azp", () => {
    const of = (claims: object) => identityFromClaims({ ...CLAIMS, ...claims }, "tenant")?.principal
    const principals = [
      of({}),
      of({ client_id: "a" }),
      of({ azp: "b" }),
      of({ client_id: "null" }),
      of({ sub: 'alice",null]' }),
    ]
    expect(new Set(principals).size).toBe(principals.length)
    expect(of({ client_id: "a", azp: "b" })).toBe(of({ client_id: "a" }))
  })

  it.each([
    { sub: "" },
    { sub: "\ud800" },
    { tenant: "a\udfff" },
    { sub: "x".repeat(513) },
    { sub: "é".repeat(257) },
    { iss: 7 },
    { client_id: 7 },
    { scope: ["mcp"] },
    { tenant: 7 },
  ])("is not made from %j", (claims) => {
    expect(identityFromClaims({ ...CLAIMS, ...claims }, "tenant")).toBeUndefined()
  })
})
