import type { ServerContext } from "@modelcontextprotocol/server"
import type { Call, InquiryEnd, RuntimeParts } from "../operation/index.ts"
import type { Exchange } from "./exchange.ts"
import { refusedState } from "./wire.ts"

type Ended<Result> = Exclude<InquiryEnd<Result>, { kind: "refused" }>

/** The legs of one exchange: one that brings state runs in the SDK's hook, one without in the handler. */
export interface Legs<Result> {
  readonly takeState: (state: string, context: ServerContext) => Promise<void>
  readonly end: (context: ServerContext) => Promise<Ended<Result>>
}

/**
 * Runs the legs of one offer in one exchange.
 *
 * The SDK turns whatever a tool throws into the tool's result; only what its verification hook throws becomes the
 * uniform -32602. A leg that brings state may be refused late (by the ledger's clock, or after a look-up), so it runs
 * whole in the hook, and the handler passes on how it ended.
 */
export function createLegs<Result>(
  exchange: Exchange,
  call: Pick<Call, "method" | "target" | "input">,
  run: (call: Call, parts: RuntimeParts) => Promise<InquiryEnd<Result>>,
): Legs<Result> {
  let endWithState: Ended<Result> | undefined
  async function leg(state: string | undefined, context: ServerContext): Promise<Ended<Result>> {
    const { identity: caller, audience, called, parts } = exchange
    const { inputResponses: responses, signal } = context.mcpReq
    const { arguments: sent, traceparent } = called
    const end = await run({ ...call, arguments: sent, caller, audience, state, responses, traceparent, signal }, parts)
    if (end.kind === "refused") throw refusedState(end.reason)
    return end
  }
  return {
    async takeState(state, context) {
      endWithState = await leg(state, context)
    },
    end: async (context) => endWithState ?? leg(undefined, context),
  }
}
