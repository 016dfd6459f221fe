import type { Json, Principal, TenantId } from "../../src/brands.ts"
import {
  type Binding,
  bytesToBase64Url,
  createSealer,
  type Draft,
  type KeyRing,
  parseKeyRing,
  type SealerOptions,
} from "../../src/seal/index.ts"

export const SECOND = 1_000
export const HOUR = 3_600 * SECOND
export const DAY = 24 * HOUR

/** A moment inside the lives of all the test keys. */
export const NOW = Date.parse("2026-08-14T09:30:00.123Z")

/** 32 bytes that nobody would take for random, and that no two seeds share. */
export function keyOf(seed: number): string {
  return bytesToBase64Url(Uint8Array.from({ length: 32 }, (_, index) => seed * 31 + index * 7))
}

export interface Entry {
  key: string
  suite?: number
  sealsFrom: string
  sealsUntil?: string
}

export function ringOf(...entries: readonly Entry[]): KeyRing {
  const parsed = parseKeyRing(JSON.stringify(entries))
  if (!parsed.ok) throw new Error(`SEAL_KEYS: ${parsed.problem}`)
  return parsed.ring
}

/** A ring of one key that seals from the start of 2026. */
export function ringOfSuite(suite: number, seed = suite): KeyRing {
  return ringOf({ key: keyOf(seed), suite, sealsFrom: "2026-01-01T00:00:00Z" })
}

export function sealerOf(options: Partial<SealerOptions> & { ring: KeyRing }) {
  return createSealer({ purpose: "mcp", now: () => NOW, random: (bytes) => crypto.getRandomValues(bytes), ...options })
}

export const BINDING: Binding = {
  tenant: "https://issuer.example acme" as TenantId,
  audience: "https://seal.example/mcp",
  principal: "https://issuer.example user-1 cli" as Principal,
  method: "tools/call",
  target: "create_project",
  argumentsDigest: Uint8Array.from({ length: 32 }, (_, index) => index),
}

export function draftOf(changes: Partial<Draft> = {}): Draft {
  return {
    round: 1,
    issuedAt: NOW,
    expiresAt: NOW + 300 * SECOND,
    deadline: NOW + 600 * SECOND,
    home: { region: 4, shard: 11 },
    state: { phase: "asked" },
    ...changes,
  }
}

/** Of the published sizes: what a token carries when everything is in it. */
export const REFERENCE_STATE: Json = {
  operationId: "op_01J9Z8Q7X5T3M2",
  phase: "awaiting_cost_approval",
  resource: "project:demo",
  policyVersion: "2026-08-14",
}
