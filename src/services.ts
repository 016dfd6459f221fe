import { createVerifier, jurisdictionsOf, type Verifier } from "./auth/index.ts"
import { chooseHome, createLedgerClient, type Ledger } from "./ledger/index.ts"
import { log } from "./observe.ts"
import type { RuntimeParts } from "./operation/index.ts"
import { createResultBox, createSealer } from "./seal/index.ts"
import type { Settings } from "./settings.ts"

/** A request as the platform delivers it, with what it says of where the request entered. */
export type Incoming = Request<unknown, IncomingRequestCfProperties>

/** What a Worker of this library needs bound. */
export interface Bindings {
  readonly LEDGER: DurableObjectNamespace<Ledger>
}

/** What one configuration makes. Made once an isolate: it holds derived keys and the issuer's, and nothing else. */
export interface Services {
  readonly verifier: Verifier
  /** What operations at `/mcp` run on, for one request. */
  readonly parts: (request: Incoming, context: ExecutionContext) => RuntimeParts
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
  const sealer = createSealer({ purpose: "mcp", ring, now, random })
  const results = createResultBox({ ring, now, random })
  const ledger = createLedgerClient({ namespace: env.LEDGER, purpose: "mcp", jurisdictions: jurisdictionsOf(settings) })
  return {
    verifier: createVerifier(settings.auth),
    parts: (request, context) => ({
      sealer,
      results,
      ledger,
      home: () => chooseHome(request.cf, ledgerShards, (length) => random(new Uint8Array(length))),
      now,
      random,
      ttlSeconds: stateTtlSeconds,
      waitUntil: (work) => context.waitUntil(work),
      observe: log,
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
