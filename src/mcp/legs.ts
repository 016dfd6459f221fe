import type { ServerContext } from "@modelcontextprotocol/server"
import type { Call, InquiryEnd, RuntimeParts } from "../operation/index.ts"
import type { Exchange } from "./exchange.ts"
import type { Exchanges } from "./offer.ts"
import { refusedState } from "./wire.ts"

type Ended<Result> = Exclude<InquiryEnd<Result>, { kind: "refused" }>

/** The legs of an offer: one that brings state runs in the SDK's hook, one without in the handler. */
export interface Legs<Result> {
  readonly takeState: (state: string, context: ServerContext) => Promise<void>
  readonly end: (context: ServerContext) => Promise<Ended<Result>>
}

/**
 * Runs the legs of one offer on one server.
 *
 * The SDK turns whatever a tool throws into the tool's result; only what its verification hook throws becomes the
 * uniform -32602. A leg that brings state may be refused late (by the ledger's clock, or after a look-up), so it runs
 * whole in the hook, and the handler passes on how it ended.
 */
export function createLegs<Result>(
  exchanges: Exchanges,
  callOf: (exchange: Exchange) => Pick<Call, "method" | "target" | "input">,
  run: (call: Call, parts: RuntimeParts) => Promise<InquiryEnd<Result>>,
): Legs<Result> {
  const endsWithState = new WeakMap<Exchange, Ended<Result>>()
  async function leg(exchange: Exchange, state: string | undefined, context: ServerContext): Promise<Ended<Result>> {
    const { identity: caller, audience, called, parts } = exchange
    const call = callOf(exchange)
    const { inputResponses: responses, signal } = context.mcpReq
    const { arguments: sent, traceparent } = called
    const end = await run({ ...call, arguments: sent, caller, audience, state, responses, traceparent, signal }, parts)
    if (end.kind === "refused") throw refusedState(end.reason)
    return end
  }
  return {
    async takeState(state, context) {
      const exchange = exchanges.of(context)
      endsWithState.set(exchange, await leg(exchange, state, context))
    },
    async end(context) {
      const exchange = exchanges.of(context)
      return endsWithState.get(exchange) ?? leg(exchange, undefined, context)
    },
  }
}
