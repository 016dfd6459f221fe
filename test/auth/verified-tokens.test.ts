import { afterEach, beforeEach, expect, it, vi } from "vitest"
import { VerifiedTokens } from "../../src/auth/verified-tokens.ts"
import type { Principal, TenantId } from "../../src/brands.ts"

const ALICE = { tenant: "claim:acme" as TenantId, principal: "alice" as Principal, scopes: new Set<string>() }
const START = Date.UTC(2026, 7, 1)

const forSeconds = (seconds: number) => ({ identity: ALICE, expiresAt: START + seconds * 1_000 })

let now: number

beforeEach(() => {
  now = START
  vi.spyOn(Date, "now").mockImplementation(() => now)
})

afterEach(() => {
  vi.restoreAllMocks()
})

it("remembers a token for its audience alone", () => {
  const tokens = new VerifiedTokens()
  tokens.keep("token", "https://a.test/mcp", forSeconds(60))
  expect(tokens.find("token", "https://a.test/mcp")?.identity).toBe(ALICE)
  expect(tokens.find("token", "https://a.test/v1")).toBeUndefined()
  expect(tokens.find("other", "https://a.test/mcp")).toBeUndefined()
})

it("never outlives a token's expiry", () => {
  const tokens = new VerifiedTokens()
  tokens.keep("token", "a", forSeconds(60))
  now += 59_999
  expect(tokens.find("token", "a")?.identity).toBe(ALICE)
  now += 1
  expect(tokens.find("token", "a")).toBeUndefined()
})

it("verifies again after five minutes, so that a withdrawn key is noticed", () => {
  const tokens = new VerifiedTokens()
  tokens.keep("token", "a", forSeconds(86_400))
  now += 299_999
  expect(tokens.find("token", "a")?.identity).toBe(ALICE)
  now += 1
  expect(tokens.find("token", "a")).toBeUndefined()
})

it("is bounded, and forgets the least recently used", () => {
  const tokens = new VerifiedTokens()
  tokens.keep("first", "a", forSeconds(60))
  tokens.keep("second", "a", forSeconds(60))
  for (let index = 0; index < 4_094; index += 1) tokens.keep(`token-${index}`, "a", forSeconds(60))
  expect(tokens.find("first", "a")?.identity).toBe(ALICE)
  tokens.keep("one-more", "a", forSeconds(60))
  expect(tokens.find("second", "a")).toBeUndefined()
  expect(tokens.find("first", "a")?.identity).toBe(ALICE)
})
