import { createMcpHandler, type ServerEventBus } from "@modelcontextprotocol/server"
import { z } from "zod"
import { authInfo } from "./auth-info.ts"
import { cannotListen } from "./cannot-listen.ts"
import { type Change, type ChangesClient, carry, Wants } from "./changes/index.ts"
import type { Exchange } from "./exchange.ts"
import { singleExchange } from "./offer.ts"
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
  const joined = await join(exchange, changes)
  if (!joined.ok) {
    await handler.close()
    return cannotListen(joined.problem, exchange.called.id)
  }
  const stream = { frames: response.body, tell, end: () => void handler.close() }
  return new Response(carry(joined, stream, exchange.expiresAt), response)
}

async function join({ identity: { tenant, principal }, body }: Exchange, changes: ChangesClient | undefined) {
  const wants = Body.parse(body).params.notifications
  return changes ? changes.connect({ tenant, principal, wants }) : NO_BUS
}

/** An author declared that lists change, and bound nothing that could say so. */
const NO_BUS = { ok: false, problem: "nothing_announced" } as const
