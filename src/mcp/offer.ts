import type { McpRequestContext, McpServer, ServerContext, ServerOptions } from "@modelcontextprotocol/server"
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
  /** Takes the state that a leg brings; absent where the offer never asks. */
  readonly verify?: (state: string, context: ServerContext) => Promise<void>
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
    if (era === "legacy" || served.length !== 1 || !called?.verify) throw new Error("No state belongs to this request.")
    await called.verify(state, context)
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
