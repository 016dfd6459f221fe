import {
  type Implementation,
  type McpRequestContext,
  McpServer,
  type ServerContext,
  type ServerOptions,
} from "@modelcontextprotocol/server"
import type { Exchange } from "./exchange.ts"
import { observeFault } from "./fault.ts"

/** Of which kind of protocol revision a request is: `modern` (2026-07-28 and later) or `legacy`. */
export type Era = McpRequestContext["era"]

/** A tool, a prompt or a resource, ready to be put on the server of any exchange. */
export interface Offer {
  /** The method that calls it. */
  readonly method: "tools/call" | "prompts/get" | "resources/read"
  /** Whether a call's target (name, or URI) means this offer. */
  takes(target: string): boolean
  /** Readies it for one exchange. */
  serve(exchange: Exchange, era: Era): Served
}

/** An offer on the server of one exchange. */
export interface Served {
  /** Puts it on the exchange's server. */
  register(server: McpServer): void
  /** Runs the leg that brings this state, and throws where it is refused; absent where the offer never asks. */
  readonly takeState?: (state: string, context: ServerContext) => Promise<void>
}

/** All offers of one exchange, as the two things that the SDK wants: options for its server, and registrations. */
export interface Serving {
  readonly options: Pick<ServerOptions, "requestState" | "inputRequired">
  /** Puts what this exchange may call on its server. */
  readonly register: (server: McpServer) => void
}

/**
 * Readies offers for one exchange: a call gets the one that it means, anything else gets all. The SDK builds a server for
 * each request, so registering what nobody asked for would be most of a call's work. State is taken by what may ask, from
 * 2026-07-28 requests, and by nothing else. {@link serverOf} does it for a server of its own; this is for one that brings
 * more than offers.
 *
 * @example
 * const serving = serveOffers([myTool], exchange, era)
 * const server = new McpServer(info, { ...serving.options })
 * serving.register(server)
 */
export function serveOffers(offers: readonly Offer[], exchange: Exchange, era: Era): Serving {
  const served = wanted(offers, exchange).map((offer) => offer.serve(exchange, era))
  async function verify(state: string, context: ServerContext): Promise<void> {
    const [called] = served
    if (era === "legacy" || served.length !== 1 || !called?.takeState)
      throw new Error("No state belongs to this request.")
    await called.takeState(state, context)
  }
  return {
    options: { requestState: { verify }, inputRequired: { legacyShim: false } },
    register(server) {
      for (const one of served) one.register(server)
    },
  }
}

function wanted(offers: readonly Offer[], { called: { method, target } }: Exchange): readonly Offer[] {
  return target === undefined ? offers : offers.filter((offer) => offer.method === method && offer.takes(target))
}

/**
 * A server for every exchange that offers these and nothing else. `options` are the SDK's own.
 *
 * @example
 * export default createWorker([mcpResource(serverOf({ name: "my-server", version: "1.0.0" }, [myTool, myPrompt]))])
 */
export function serverOf(
  info: Implementation,
  offers: readonly Offer[],
  options: ServerOptions = {},
): (exchange: Exchange, era: Era) => McpServer {
  // Whatever a call asks for, the server says all that it can.
  const capabilities = { ...capabilitiesOf(offers), ...options.capabilities }
  return (exchange, era) => {
    const serving = serveOffers(offers, exchange, era)
    const server = new McpServer(info, { ...options, capabilities, ...serving.options })
    serving.register(server)
    return server
  }
}

function capabilitiesOf(offers: readonly Offer[]): NonNullable<ServerOptions["capabilities"]> {
  const methods = new Set(offers.map(({ method }) => method))
  return {
    ...(methods.has("tools/call") && { tools: { listChanged: false } }),
    ...(methods.has("prompts/get") && { prompts: { listChanged: false } }),
    ...(methods.has("resources/read") && { resources: { listChanged: false, subscribe: false } }),
  }
}

/** Runs what an author wrote; what it throws stays here, for its words are for nobody outside. */
export type Guard = <Result>(run: () => Promise<Result>) => Promise<Result>

/**
 * An offer that never asks. Its handlers run what may fail under the guard.
 *
 * @example
 * plainOffer("tools/call", "now", (server, _exchange, guard) => {
 *   const config = { description: "Says what time it is.", inputSchema: z.object({}) }
 *   server.registerTool("now", config, () => guard(async () => ({ content: [{ type: "text", text: clock() }] })))
 * })
 */
export function plainOffer(
  method: Offer["method"],
  target: string,
  register: (server: McpServer, exchange: Exchange, guard: Guard) => void,
): Offer {
  return {
    method,
    takes: (called) => called === target,
    serve(exchange) {
      const guard: Guard = (run) => run().catch((error) => fail(error, exchange, method, target))
      return { register: (server) => register(server, exchange, guard) }
    },
  }
}

function fail(error: unknown, { parts, identity }: Exchange, method: Offer["method"], target: string): never {
  observeFault(parts, identity, method, target, error)
  throw new Error("The server failed; try again.")
}
