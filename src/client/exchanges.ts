import type { McpHttpHandler, ServerContext } from "@modelcontextprotocol/server"
import * as z from "zod/mini"
import type { McpRequest } from "./requests.ts"

/** One HTTP request that is being served. */
export interface Exchange {
  readonly request: McpRequest
  /** The state that it brought, once that has been verified. */
  state?: string
}

type ServeOptions = Parameters<McpHttpHandler["fetch"]>[1] & {
  /** The body as parsed: what is bound, what the SDK's header checks see, and what runs are this one value. */
  readonly parsedBody: unknown
}

/** Serves one request with the official SDK's handler. */
export type Serve = (handler: McpHttpHandler, request: Request, options: ServeOptions) => Promise<Response>

const Arguments = z.optional(
  z.custom<Readonly<Record<string, unknown>>>((value) => typeof value === "object" && value !== null),
)
const Named = z.object({ params: z.object({ name: z.string(), arguments: Arguments }) })

/** The requests that may ask, and what each is about. */
const Called = z.discriminatedUnion("method", [
  z.extend(Named, { method: z.literal("tools/call") }),
  z.extend(Named, { method: z.literal("prompts/get") }),
  z.object({ method: z.literal("resources/read"), params: z.object({ uri: z.string() }) }),
])

/**
 * Remembers what each HTTP request asks for while it is served: the SDK tells its hook neither a tool's name nor its
 * arguments, but it hands on the request.
 */
export function createExchanges(): { readonly serve: Serve; readonly of: (context: ServerContext) => Exchange } {
  const exchanges = new WeakMap<Request, Exchange>()
  return {
    serve(handler, request, options) {
      const called = Called.safeParse(options.parsedBody)
      if (called.success) exchanges.set(request, { request: requestOf(called.data) })
      return handler.fetch(request, options)
    },
    of({ http }) {
      const exchange = http?.req && exchanges.get(http.req)
      if (exchange) return exchange
      throw new Error("This request is not known; serve it with the codec's own serve, over HTTP.")
    },
  }
}

function requestOf(called: z.infer<typeof Called>): McpRequest {
  const { method } = called
  if (method === "resources/read") return { method, target: called.params.uri }
  const { name: target, arguments: sent } = called.params
  return { method, target, ...(sent && { arguments: sent }) }
}
