import type { ApiParts } from "./api/index.ts"
import { createVerifier, jurisdictionsOf, type Verifier } from "./auth/index.ts"
import { chooseHome, createKeyedLedgerClient, createLedgerClient, type Ledger } from "./ledger/index.ts"
import { createObserver } from "./observe.ts"
import type { RuntimeParts } from "./operation/index.ts"
import { createRateLimiter, type RateLimiter } from "./rate-limit.ts"
import { createPseudonyms, createResultBox, createSealer, listKeys } from "./seal/index.ts"
import type { Settings } from "./settings.ts"

/** A request as the platform delivers it, with what it says of where the request entered. */
export type Incoming = Request<unknown, IncomingRequestCfProperties>

/** What a Worker of this library needs bound, and what it may have; without the limits nobody is limited. */
export interface Bindings {
  readonly LEDGER: DurableObjectNamespace<Ledger>
  readonly MCP_RATE_LIMIT?: RateLimit
  readonly API_RATE_LIMIT?: RateLimit
  /** Where events are counted; without it they are log lines alone. */
  readonly METRICS?: AnalyticsEngineDataset
}

/** What one configuration makes. Made once an isolate: it holds derived keys and the issuer's, and nothing else. */
export interface Services {
  readonly verifier: Verifier
  readonly mcpRateLimiter: RateLimiter
  /** What operations at `/mcp` run on, for one request. */
  readonly mcpParts: (request: Incoming, context: ExecutionContext) => RuntimeParts
  /** What `/v1` runs on, for one request. */
  readonly apiParts: (request: Incoming) => ApiParts
}

const made = new WeakMap<Settings, Services>()

export function servicesOf(settings: Settings, env: Bindings): Services {
  const before = made.get(settings)
  if (before) return before
  const services = createServices(settings, env)
  made.set(settings, services)
  return services
}

function createServices(settings: Settings, env: Bindings): Services {
  const { ring, ledgerShards, stateTtlSeconds } = settings
  const observe = createObserver(env.METRICS)
  const pseudonyms = createPseudonyms({ ring, now })
  const results = createResultBox({ ring, now, random })
  const ledgerAt = { namespace: env.LEDGER, jurisdictions: jurisdictionsOf(settings) }
  const mcp = {
    sealer: createSealer({ purpose: "mcp", ring, now, random }),
    ledger: createLedgerClient({ ...ledgerAt, purpose: "mcp" }),
  }
  const api = {
    sealer: createSealer({ purpose: "api", ring, now, random }),
    ledger: createLedgerClient({ ...ledgerAt, purpose: "api" }),
    keyedLedger: createKeyedLedgerClient(ledgerAt),
    rateLimiter: createRateLimiter(env.API_RATE_LIMIT),
  }
  const homeOf = (request: Incoming) => chooseHome(request.cf, ledgerShards, (length) => random(new Uint8Array(length)))
  return {
    verifier: createVerifier(settings.auth),
    mcpRateLimiter: createRateLimiter(env.MCP_RATE_LIMIT),
    apiParts: (request) => ({
      ...api,
      results,
      listKeys: () => listKeys(ring, now()),
      home: () => homeOf(request),
      now,
      random,
      observe,
    }),
    mcpParts: (request, context) => ({
      ...mcp,
      results,
      home: () => homeOf(request),
      now,
      random,
      ttlSeconds: stateTtlSeconds,
      waitUntil: (work) => context.waitUntil(work),
      pseudonyms,
      observe,
    }),
  }
}

/** Stands still between I/O, as the platform has it; the ledger's object has the last word on time. */
function now(): number {
  return Date.now()
}

function random(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(bytes)
}
