import type { ApiParts } from "./api/index.ts"
import { createVerifier, jurisdictionsOf, type Verifier } from "./auth/index.ts"
import { chooseHome, createKeyedLedgerClient, createLedgerClient, type Ledger, type Namespace } from "./ledger/index.ts"
import { type Changes, type ChangesClient, createChangesClient } from "./mcp/changes/index.ts"
import {
  createSessions,
  type SessionListStub,
  type SessionStub,
  type Sessions,
  type SessionsOptions,
} from "./mcp/session/index.ts"
import { createObserver, type LogEvent, log } from "./observe.ts"
import type { RuntimeParts } from "./operation/index.ts"
import { createRateLimiter, type RateLimiter } from "./rate-limit.ts"
import { createPseudonyms, createResultBox, createSealer, type Home, listKeys } from "./seal/index.ts"
import type { Settings } from "./settings.ts"

/** A request as the platform delivers it, with what it says of where the request entered. */
export type Incoming = Request<unknown, IncomingRequestCfProperties>

/** What a Worker of this library needs bound, and what it may have; without the limits nobody is limited. */
export interface Bindings {
  readonly LEDGER: DurableObjectNamespace<Ledger>
  /** A class made by `sessionOf`, and `SessionList`: both, or 2025-era clients are served without sessions. */
  readonly SESSIONS?: Namespace<SessionStub>
  readonly SESSION_LISTS?: Namespace<SessionListStub>
  /** Where changes are announced; without it nobody can listen. */
  readonly CHANGES?: DurableObjectNamespace<Changes>
  /** Answers a request when the server is about to stop, as `waxseal serve` does: streams end then. */
  readonly STOP?: Fetcher
  readonly MCP_RATE_LIMIT?: RateLimit
  readonly API_RATE_LIMIT?: RateLimit
  /** Where events are counted; without it they are log lines alone. */
  readonly METRICS?: AnalyticsEngineDataset
  /** Public: what `/healthz` calls this deployment, beside the version; `npm run deploy` gives each a name of its own. */
  readonly WAXSEAL_DEPLOYMENT?: string
}

/** What one configuration makes. Made once an isolate: it holds derived keys and the issuer's, and nothing else. */
export interface Services {
  readonly verifier: Verifier
  readonly mcpRateLimiter: RateLimiter
  /** How 2025-era clients are served at `/mcp`: with sessions, without any, or not at all. */
  readonly legacy: Sessions | "stateless" | "reject"
  /** What clients of `/mcp` may listen to. */
  readonly changes: ChangesClient | undefined
  /** Where an operation that begins with this request has its record. */
  readonly homeOf: (request: Incoming) => Home
  /** Tells the operator. */
  readonly observe: (event: LogEvent) => void
  /** What operations at `/mcp` run on, for one request. */
  readonly mcpParts: (home: () => Home, context: Pick<ExecutionContext, "waitUntil">) => RuntimeParts
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
  const jurisdictions = jurisdictionsOf(settings)
  const changes = env.CHANGES && createChangesClient({ namespace: env.CHANGES, jurisdictions, stop: env.STOP })
  const ledgerAt = { namespace: env.LEDGER, jurisdictions }
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
    changes,
    legacy: legacyOf(settings, env, { changes, jurisdictions, pseudonyms, observe }),
    homeOf,
    observe,
    mcpParts: (home, context) => ({
      ...mcp,
      results,
      home,
      now,
      random,
      ttlSeconds: stateTtlSeconds,
      waitUntil: (work) => context.waitUntil(work),
      pseudonyms,
      observe,
    }),
  }
}

const HALF_A_SESSION =
  "SESSIONS and SESSION_LISTS belong together; bind both, or clients of 2025-11-25 are not asked anything."

function legacyOf(
  settings: Settings,
  env: Bindings,
  shared: Pick<SessionsOptions, "changes" | "jurisdictions" | "pseudonyms" | "observe">,
): Services["legacy"] {
  const { legacy, ring } = settings
  const { SESSIONS: objects, SESSION_LISTS: lists } = env
  if (legacy !== "interactive") return legacy
  if (!objects || !lists) {
    if (objects ?? lists) log({ event: "misconfigured", problem: HALF_A_SESSION })
    return "stateless"
  }
  return createSessions({
    sealer: createSealer({ purpose: "session", ring, now, random }),
    objects,
    lists,
    now,
    ...shared,
  })
}

/** Stands still between I/O, as the platform has it; the ledger's object has the last word on time. */
function now(): number {
  return Date.now()
}

function random(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(bytes)
}
