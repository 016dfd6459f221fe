import { env } from "cloudflare:workers"
import { z } from "zod"
import type { ApiEvent, ApiParts } from "../../src/api/index.ts"
import { serveApi } from "../../src/api/serve.ts"
import type { Identity } from "../../src/auth/index.ts"
import type { Principal, TenantId } from "../../src/brands.ts"
import { createKeyedLedgerClient, createLedgerClient } from "../../src/ledger/index.ts"
import { createResultBox, createSealer, listKeys } from "../../src/seal/index.ts"
import { ringOfSuite } from "../seal/support.ts"

const random = (bytes: Uint8Array<ArrayBuffer>) => crypto.getRandomValues(bytes)
const ring = ringOfSuite(1)
const jurisdictions = new Map()

const identity: Identity = {
  tenant: "claim:acme" as TenantId,
  principal: '["https://issuer.test","server",null]' as Principal,
  scopes: new Set(["state:seal", "state:open", "state:redeem", "operations"]),
}

const Body = z.record(z.string(), z.unknown())

/** The API with its door, on the real ledger, for one caller; `changes` take the place of its parts. */
export function stage(changes: Partial<ApiParts> = {}) {
  const events: ApiEvent[] = []
  const now = changes.now ?? (() => Date.now())
  const parts: ApiParts = {
    sealer: createSealer({ purpose: "api", ring, now, random }),
    results: createResultBox({ ring, now, random }),
    ledger: createLedgerClient({ namespace: env.LEDGER, purpose: "api", jurisdictions }),
    keyedLedger: createKeyedLedgerClient({ namespace: env.LEDGER, jurisdictions }),
    listKeys: () => listKeys(ring, now()),
    home: () => ({ region: 0, shard: 0 }),
    now,
    random,
    rateLimiter: async () => true,
    observe: (event) => events.push(event),
    ...changes,
  }
  const surroundings = {
    base: "https://waxseal.test",
    verifier: async () => ({ ok: true, identity, expiresAt: Number.POSITIVE_INFINITY }) as const,
    allowedOrigins: [],
    parts,
  }
  async function call(path: string, body?: unknown) {
    const request = new Request(`https://waxseal.test/v1${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const response = await serveApi(request, { url: new URL(request.url), ...surroundings })
    return { status: response.status, headers: response.headers, body: Body.parse(await response.json()) }
  }
  return { call, events, parts }
}

export const BOUND = { principal: "alice", request: { method: "tools/call", target: "x", arguments: { a: 1 } } }
