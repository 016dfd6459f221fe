/**
 * `requestState` for servers of the official SDK, sealed over the API or with a key ring of their own.
 * Knows the SDK's hook and what a state is bound to. It must not know how a state is sealed, nor how a call is sent.
 *
 * @module waxseal/codec
 */
import type { CallToolResult, ServerContext } from "@modelcontextprotocol/server"
import type { Json } from "../brands.ts"
import { apiSeals, unusable } from "./api-seals.ts"
import type { Client } from "./client.ts"
import { codeOf } from "./errors.ts"
import { createExchanges, type Serve } from "./exchanges.ts"
import { localSeals } from "./local-seals.ts"
import type { Bound } from "./requests.ts"
import type { Lifetime, Seals } from "./seals.ts"

export type { Serve } from "./exchanges.ts"
export type { Lifetime } from "./seals.ts"

/** Whose states these are, what they may say, and how long they live. */
export interface CodecOptions<Payload extends Json> extends Lifetime {
  /** Who asks, from what has been verified about the caller, such as `({ http }) => http?.authInfo?.clientId`. */
  readonly principal: (context: ServerContext) => string | undefined
  /** Tells this server's states from those of others that share the tenant or the ring. */
  readonly audience?: string
  /** Reads a payload, and throws for one that this version of the server never sealed. A zod schema's `parse` does. */
  readonly parse: (payload: Json) => Payload
}

/**
 * `mint` and `verify` as the official SDK's `createRequestStateCodec` has them. A state opens for the same principal, on
 * the same method, tool, prompt or resource, with the same arguments, until it expires; the client cannot read it.
 */
export interface Codec<Payload extends Json> {
  /**
   * Seals what the handler gives to `inputRequired({ requestState })`. On a leg that brought state it seals the next
   * round of the same operation. Rejects with `WaxsealError` `rounds_exceeded` where none is left, and over the API with an
   * `Error` that may be shown to anybody where the API cannot be used, or will never seal this; its `cause` is for your log.
   */
  mint(payload: Payload, context: ServerContext): Promise<string>
  /**
   * For `ServerOptions.requestState.verify`. Rejects where the state does not verify; the SDK then answers -32602 and
   * hands the reason to `onerror` alone.
   */
  verify(state: string, context: ServerContext): Promise<Payload>
  /** In place of the handler's own `fetch`: the SDK does not tell its hook what is called. */
  readonly serve: Serve
}

/** A tool's handler, as `registerTool` takes it. */
export type ToolHandler<Args, Result> = (args: Args, context: ServerContext) => Result | Promise<Result>

/** A codec that can also spend an operation, because the API keeps the record. */
export interface ApiCodec<Payload extends Json> extends Codec<Payload> {
  /**
   * Spends the operation of the verified state that this leg brought, and then runs the handler: once, among all legs of
   * all its rounds, on all replicas. Wrap what acts, not what asks. A leg that comes too late gets a tool error that says
   * so; where the API cannot be used, it throws as `mint` does. At most once: where the handler throws, or this process
   * dies, nobody acts again.
   *
   * @example
   * const act = codec.once(async ({ name }: { name: string }) => ({ content: [{ type: "text", text: await create(name) }] }))
   */
  once<Args, Result>(
    handler: ToolHandler<Args, Result>,
  ): (args: Args, context: ServerContext) => Promise<Result | CallToolResult>
}

/**
 * A codec over the sealing API: no keys here, one call to mint and one to verify, and single use by `once`. A leg whose
 * state cannot be verified because the API is away is answered as any other that does not verify; it may be sent again.
 *
 * @example
 * const codec = createApiCodec({ client, principal: ({ http }) => http?.authInfo?.clientId, parse: Pending.parse })
 * const handler = createMcpHandler(() => server({ requestState: { verify: codec.verify } }))
 * const answer = await codec.serve(handler, request, { parsedBody, authInfo })
 */
export function createApiCodec<Payload extends Json>({
  client,
  ...options
}: CodecOptions<Payload> & { readonly client: Client }): ApiCodec<Payload> {
  const { codec, presented } = createCodec(options, apiSeals(client))
  return {
    ...codec,
    once: (handler) => async (args, context) => {
      const { state, bound } = presented(context)
      try {
        await client.redeem({ ...bound, requestState: state })
      } catch (error) {
        if (codeOf(error) === "already_redeemed") return ALREADY_USED
        throw unusable(error)
      }
      return handler(args, context)
    },
  }
}

/**
 * A codec with a key ring of this server's own, the same on all its replicas: nothing is called, and nothing is single-use.
 * `ring` is written as `SEAL_KEYS` is (`npx waxseal keygen`), with suite 1 or 2.
 *
 * @example
 * const codec = createLocalCodec({ ring: process.env.SEAL_KEYS, principal, parse: Pending.parse })
 *
 * @throws Error where `ring` is none; the message quotes nothing of it
 */
export function createLocalCodec<Payload extends Json>({
  ring,
  ...options
}: CodecOptions<Payload> & { readonly ring: string }): Codec<Payload> {
  return createCodec(options, localSeals(ring)).codec
}

const TOO_LATE = "This was already done, or is being done, for an answer that came before; nothing was done now."
const NEXT = "Check what came of it. Call again without requestState only if it shall be done once more."

const ALREADY_USED: CallToolResult = {
  content: [{ type: "text", text: `${TOO_LATE} ${NEXT}` }],
  structuredContent: { status: "already_used", retryable: false, nextAction: NEXT },
  isError: true,
}

/** A state that has been verified, and what it is bound to. */
interface Presented {
  readonly state: string
  readonly bound: Bound
}

function createCodec<Payload extends Json>(
  { principal: principalOf, audience, parse, ...lifetime }: CodecOptions<Payload>,
  seals: Seals,
): { readonly codec: Codec<Payload>; readonly presented: (context: ServerContext) => Presented } {
  const exchanges = createExchanges()

  function boundOf(context: ServerContext): Bound {
    const principal = principalOf(context)
    if (!principal) throw new Error("Nobody is known to have sent this; authenticate the caller before the SDK runs.")
    const { request } = exchanges.of(context)
    return { principal, request, ...(audience !== undefined && { audience }) }
  }

  return {
    codec: {
      mint: (payload, context) =>
        seals.seal(boundOf(context), payload, { ...lifetime, continues: exchanges.of(context).state }),
      async verify(state, context) {
        const payload = parse(await seals.open(boundOf(context), state))
        exchanges.of(context).state = state
        return payload
      },
      serve: exchanges.serve,
    },
    presented(context) {
      const { state } = exchanges.of(context)
      if (state === undefined) throw new Error("This leg brought no state that was verified; ask before you act.")
      return { state, bound: boundOf(context) }
    },
  }
}
