import { createMcpHandler, type ServerEventBus } from "@modelcontextprotocol/server"
import { z } from "zod"
import { authInfo } from "./auth-info.ts"
import { type Change, type ChangesClient, type Connected, carry, Wants } from "./changes/index.ts"
import type { Exchange } from "./exchange.ts"
import { singleExchange } from "./offer.ts"
import { rpcError } from "./rpc-error.ts"
import type { CreateServer } from "./sdk.ts"

const Body = z.object({ params: z.object({ notifications: Wants }) })

/**
 * Answers one `subscriptions/listen` of 2026-07-28 (basic/patterns/subscriptions). The SDK checks the request, says what it
 * honours, and writes the frames; only when there is a subscription to serve is the bus joined, and only then does the
 * client hear of it: what is acknowledged is listened to.
 *
 * @param changes absent where nothing is announced
 */
export async function listen(
  createServer: CreateServer,
  request: Request,
  exchange: Exchange,
  changes: ChangesClient | undefined,
): Promise<Response> {
  let tell: ((change: Change) => void) | undefined
  const bus: ServerEventBus = {
    publish() {},
    subscribe(listener) {
      tell = listener
      return () => {}
    },
  }
  // Of its own: the SDK's handlers have one bus each, and every client hears its own tenant's alone.
  const handler = createMcpHandler(({ era }) => createServer(singleExchange(exchange, era)), { bus, legacy: "reject" })
  const response = await handler.fetch(request, { parsedBody: exchange.body, authInfo: authInfo(exchange) })
  if (!tell || !response.body) return response
  const joined = changes ? await join(changes, exchange) : NOTHING_ANNOUNCED
  if (!joined.ok) {
    await handler.close()
    return refusal(joined.problem, exchange.called.id)
  }
  const stream = { frames: response.body, tell, end: () => void handler.close() }
  return new Response(carry(joined.socket, stream, exchange.expiresAt), response)
}

function join(changes: ChangesClient, { identity, body }: Exchange): Promise<Connected> {
  return changes.connect(identity.tenant, identity.principal, Body.parse(body).params.notifications)
}

const NOTHING_ANNOUNCED = { ok: false, problem: "nothing_announced" } as const

type Problem = Extract<Connected | typeof NOTHING_ANNOUNCED, { ok: false }>["problem"]

function refusal(problem: Problem, id: string | number | null): Response {
  switch (problem) {
    case "nothing_announced":
      return rpcError(501, -32_000, "This server announces no changes; read again instead.", {}, id)
    case "unreachable":
      return rpcError(503, -32_000, "Changes cannot be listened to now; try again soon.", { "Retry-After": "5" }, id)
    case "principal_full":
      return rpcError(429, -32_000, "You listen 16 times already; end one of those streams first.", {}, id)
    case "tenant_full":
      return rpcError(429, -32_000, "Too many clients of your organisation listen; try again later.", {}, id)
  }
}
