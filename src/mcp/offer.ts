import {
  type Implementation,
  type McpRequestContext,
  McpServer,
  type ServerContext,
  type ServerOptions,
} from "@modelcontextprotocol/server"
import type { Called, Exchange } from "./exchange.ts"
import { observeFault } from "./fault.ts"

/** Of which kind of protocol revision a request is: `modern` (2026-07-28 and later) or `legacy`. */
export type Era = McpRequestContext["era"]

/** The exchanges that one server is for: a single one, or all those of a session. */
export interface Exchanges {
  readonly era: Era
  /** The single one; absent in a session. */
  readonly only: Exchange | undefined
  /** In a session, how long a person may take to answer one question. */
  readonly patienceMs: number | undefined
  /** The exchange of the request that a handler or a hook runs for. */
  of(context: ServerContext): Exchange
}

/** The exchanges of a server that answers one request and is gone. */
export function singleExchange(exchange: Exchange, era: Era): Exchanges {
  return { era, only: exchange, patienceMs: undefined, of: () => exchange }
}

/** Whether a question reaches anybody: in a result of revision 2026-07-28, or on a stream of a session. */
export function canAsk({ era, patienceMs }: Exchanges): boolean {
  return era === "modern" || patienceMs !== undefined
}

/** A tool, a prompt or a resource, ready to be put on the server of any exchange. */
export interface Offer {
  /** The method that calls it. */
  readonly method: "tools/call" | "prompts/get" | "resources/read"
  /** Whether a call's target (name, or URI) means this offer. */
  takes(target: string): boolean
  /** Readies it for the exchanges of one server. */
  serve(exchanges: Exchanges): Served
}

/** An offer on one server. */
export interface Served {
  /** Puts it on the exchange's server. */
  register(server: McpServer): void
  /** Runs the leg that brings this state, and throws where it is refused; absent where the offer never asks. */
  readonly takeState?: (state: string, context: ServerContext) => Promise<void>
}

/** All offers of one server, as the two things that the SDK wants: options for its server, and registrations. */
export interface Serving {
  readonly options: Pick<ServerOptions, "requestState" | "inputRequired">
  /** Puts what this exchange may call on its server. */
  readonly register: (server: McpServer) => void
}

/**
 * Readies offers for one server. One that is for a call gets what the call means, any other gets all: the SDK builds a
 * server for each request, so registering what nobody asked for would be most of a call's work. State is taken by what
 * may ask and by nothing else, from 2026-07-28 requests, and from the SDK where it carries a session's questions.
 * {@link serverOf} does it for a server of its own; this is for one that brings more than offers.
 *
 * @example
 * const serving = serveOffers([myTool], exchanges)
 * const server = new McpServer(info, { ...serving.options })
 * serving.register(server)
 */
export function serveOffers(offers: readonly Offer[], exchanges: Exchanges): Serving {
  const served = wanted(offers, exchanges.only).map((offer) => ({ offer, ...offer.serve(exchanges) }))
  async function verify(state: string, context: ServerContext): Promise<void> {
    const { called } = exchanges.of(context)
    const [taker, another] = served.filter(({ offer }) => isMeant(offer, called))
    if (!mayBringState(exchanges, called) || another || !taker?.takeState)
      throw new Error("No state belongs to this request.")
    await taker.takeState(state, context)
  }
  return {
    options: { requestState: { verify }, inputRequired: questionsOf(exchanges) },
    register(server) {
      for (const one of served) one.register(server)
    },
  }
}

function wanted(offers: readonly Offer[], only: Exchange | undefined): readonly Offer[] {
  return only?.called.target === undefined ? offers : offers.filter((offer) => isMeant(offer, only.called))
}

function isMeant(offer: Offer, { method, target }: Called): boolean {
  return target !== undefined && offer.method === method && offer.takes(target)
}

/** Revision 2025-11-25 knows no state: in a session it never leaves the server, and what a client sends is none. */
function mayBringState(exchanges: Exchanges, { hasState }: Called): boolean {
  return exchanges.era === "modern" || (canAsk(exchanges) && !hasState)
}

/** The operation's own limit of rounds speaks first: no operation has more than 31, and each may send state alone, too. */
const SESSION_ROUNDS = 64

/** In a session the SDK puts the questions, and enters the handler again with the answers. */
function questionsOf({ patienceMs }: Exchanges): NonNullable<ServerOptions["inputRequired"]> {
  if (patienceMs === undefined) return { legacyShim: false }
  return { legacyShim: true, maxRounds: SESSION_ROUNDS, roundTimeoutMs: patienceMs }
}

/**
 * A server of these offers and nothing else, for whatever exchanges it is made for. `options` are the SDK's own.
 *
 * @example
 * export default createWorker([mcpResource(serverOf({ name: "my-server", version: "1.0.0" }, [myTool, myPrompt]))])
 */
export function serverOf(
  info: Implementation,
  offers: readonly Offer[],
  options: ServerOptions = {},
): (exchanges: Exchanges) => McpServer {
  // Whatever a call asks for, the server says all that it can.
  const capabilities = { ...capabilitiesOf(offers, false), ...options.capabilities }
  const subscribable = { ...capabilitiesOf(offers, true), ...options.capabilities }
  return (exchanges) => {
    const serving = serveOffers(offers, exchanges)
    const said = exchanges.only?.hearing.has(exchanges.era) ? subscribable : capabilities
    const server = new McpServer(info, { ...options, capabilities: said, ...serving.options })
    serving.register(server)
    return server
  }
}

function capabilitiesOf(offers: readonly Offer[], subscribe: boolean): NonNullable<ServerOptions["capabilities"]> {
  const methods = new Set(offers.map(({ method }) => method))
  return {
    ...(methods.has("tools/call") && { tools: { listChanged: false } }),
    ...(methods.has("prompts/get") && { prompts: { listChanged: false } }),
    ...(methods.has("resources/read") && { resources: { listChanged: false, subscribe } }),
  }
}

/** Runs what an author wrote, for one exchange; what it throws stays here, for its words are for nobody outside. */
export type Guard = <Result>(context: ServerContext, run: (exchange: Exchange) => Promise<Result>) => Promise<Result>

/**
 * An offer that never asks. Its handlers pass their context to the guard, and learn from it for whom they run.
 *
 * @example
 * plainOffer("tools/call", "now", (server, guard) => {
 *   const config = { description: "Says what time it is.", inputSchema: z.object({}) }
 *   const text = async () => ({ content: [{ type: "text" as const, text: clock() }] })
 *   server.registerTool("now", config, (_input, context) => guard(context, text))
 * })
 */
export function plainOffer(
  method: Offer["method"],
  target: string,
  register: (server: McpServer, guard: Guard) => void,
): Offer {
  return {
    method,
    takes: (called) => called === target,
    serve(exchanges) {
      const guard: Guard = (context, run) => {
        const exchange = exchanges.of(context)
        return run(exchange).catch((error) => fail(error, exchange, method, target))
      }
      return { register: (server) => register(server, guard) }
    },
  }
}

function fail(error: unknown, { parts, identity }: Exchange, method: Offer["method"], target: string): never {
  observeFault(parts, identity, method, target, error)
  throw new Error("The server failed; try again.")
}
