import {
  type Implementation,
  type McpRequestContext,
  McpServer,
  type ServerContext,
  type ServerOptions,
} from "@modelcontextprotocol/server"
import type { Exchange } from "./exchange.ts"

export type Era = McpRequestContext["era"]

/** A tool, a prompt or a resource, ready to be put on the server of any exchange. */
export interface Offer {
  /** The method that calls it. */
  readonly method: "tools/call" | "prompts/get" | "resources/read"
  /** Whether a call's target (name, or URI) means this offer. */
  takes(target: string): boolean
  serve(exchange: Exchange, era: Era): Served
}

/** An offer on the server of one exchange. */
export interface Served {
  register(server: McpServer): void
  /** Runs the leg that brings this state, and throws where it is refused; absent where the offer never asks. */
  readonly takeState?: (state: string, context: ServerContext) => Promise<void>
}

/** All offers of one exchange, as the two things that the SDK wants: options for its server, and registrations. */
export interface Serving {
  readonly options: Pick<ServerOptions, "requestState" | "inputRequired">
  readonly register: (server: McpServer) => void
}

/**
 * Readies offers for one exchange: a call gets the one that it means, anything else gets all. The SDK builds a server for
 * each request, so registering what nobody asked for would be most of a call's work. State is taken by what may ask, from
 * 2026-07-28 requests, and by nothing else.
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

/** A server for every exchange that offers these and nothing else. `options` are the SDK's own. */
export function serverOf(
  info: Implementation,
  offers: readonly Offer[],
  options: ServerOptions = {},
): (exchange: Exchange, era: Era) => McpServer {
  return (exchange, era) => {
    const serving = serveOffers(offers, exchange, era)
    const server = new McpServer(info, { ...options, ...serving.options })
    serving.register(server)
    return server
  }
}

/** An offer that never asks. */
export function plainOffer(
  method: Offer["method"],
  target: string,
  register: (server: McpServer, exchange: Exchange) => void,
): Offer {
  return {
    method,
    takes: (called) => called === target,
    serve: (exchange) => ({ register: (server) => register(server, exchange) }),
  }
}
