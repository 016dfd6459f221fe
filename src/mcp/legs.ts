import type { McpRequestContext, McpServer, ServerContext, ServerOptions } from "@modelcontextprotocol/server"
import { z } from "zod"
import type { Call, InquiryEnd, RuntimeParts } from "../operation/index.ts"
import type { Exchange } from "./exchange.ts"

export type Era = McpRequestContext["era"]

/** What may ask: a tool, a prompt or a resource, ready to be put on any exchange's server. */
export interface Askable {
  serve(exchange: Exchange, era: Era): Served
}

/** One askable on the server of one exchange. */
export interface Served {
  /** Whether a request of that method and target (name, or URI) is for it. */
  takes(method: string, target: string): boolean
  readonly verify: (state: string, context: ServerContext) => Promise<void>
  register(server: McpServer): void
}

type Ended<Result> = Exclude<InquiryEnd<Result>, { kind: "refused" }>

/** The legs of one exchange: one that brings state runs in the SDK's hook, one without in the handler. */
export interface Legs<Result> {
  readonly verify: (state: string, context: ServerContext) => Promise<void>
  readonly end: (context: ServerContext) => Promise<Ended<Result>>
}

/**
 * Runs the legs of one askable in one exchange.
 *
 * The SDK turns whatever a tool throws into the tool's result; only what its verification hook throws becomes the
 * uniform -32602. A leg that brings state may be refused late (by the ledger's clock, or after a look-up), so it runs
 * whole in the hook, and the handler passes on how it ended.
 */
export function createLegs<Result>(
  exchange: Exchange,
  call: Pick<Call, "method" | "target" | "arguments" | "input">,
  run: (call: Call, parts: RuntimeParts) => Promise<InquiryEnd<Result>>,
): Legs<Result> {
  let endWithState: Ended<Result> | undefined
  async function leg(state: string | undefined, context: ServerContext): Promise<Ended<Result>> {
    const { identity: caller, audience, parts } = exchange
    const { inputResponses: responses, signal } = context.mcpReq
    const end = await run({ ...call, caller, audience, state, responses, signal }, parts)
    if (end.kind === "refused") throw new Error(end.reason)
    return end
  }
  return {
    async verify(state, context) {
      endWithState = await leg(state, context)
    },
    end: async (context) => endWithState ?? leg(undefined, context),
  }
}

/** All askables of one exchange, as the two things that the SDK wants: options for its server, and registrations. */
export interface Asking {
  readonly options: Pick<ServerOptions, "requestState" | "inputRequired">
  readonly register: (server: McpServer) => void
}

/** Readies askables for one exchange. State is taken with 2026-07-28 requests that may ask, and with no others. */
export function serveAskables(askables: readonly Askable[], exchange: Exchange, era: Era): Asking {
  const served = askables.map((askable) => askable.serve(exchange, era))
  async function verify(state: string, context: ServerContext): Promise<void> {
    const { method } = context.mcpReq
    const target = targetOf(exchange.body)
    const taker = served.find((one) => target !== undefined && one.takes(method, target))
    if (era === "legacy" || !taker) throw new Error("This is not a request that may ask.")
    await taker.verify(state, context)
  }
  return {
    options: { requestState: { verify }, inputRequired: { legacyShim: false } },
    register(server) {
      for (const one of served) one.register(server)
    },
  }
}

const Params = z.object({ name: z.string().optional(), uri: z.string().optional(), arguments: z.unknown().optional() })
const Body = z.object({ params: Params })

/** The tool's or prompt's name, or the resource's URI. */
function targetOf(body: unknown): string | undefined {
  const params = Body.safeParse(body).data?.params
  return params?.name ?? params?.uri
}

/** The arguments as they were sent. */
export function argumentsOf(body: unknown): unknown {
  return Body.safeParse(body).data?.params.arguments
}
