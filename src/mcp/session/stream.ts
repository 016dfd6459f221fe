import { cannotListen } from "../cannot-listen.ts"
import { type ChangesClient, carry } from "../changes/index.ts"
import type { Entrance, Exchange } from "../exchange.ts"
import { rpcError } from "../rpc-error.ts"
import { ChangeEvents } from "./events.ts"
import type { OpenSession } from "./sessions.ts"

/** What every session may hear; the resources that it subscribed to come later. */
const LISTS = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }

/**
 * The stream of a session that a GET asks for (2025-11-25 basic/transports, Listening for Messages from the Server):
 * changes, and nothing else. It is served here, not by the session's object, which sleeps on. A session has one; another
 * takes its place, because the one before is most often a connection that its client has lost.
 *
 * @returns `undefined` where the session has ended
 */
export async function openStream(
  request: Request,
  { identity: { tenant, principal }, expiresAt }: Entrance,
  session: OpenSession,
  changes: ChangesClient | undefined,
): Promise<Response | undefined> {
  if (!changes) return rpcError(405, -32_000, "There is no stream here; send requests by POST.", ALLOWED)
  if (!request.headers.get("accept")?.includes("text/event-stream"))
    return rpcError(406, -32_000, "A stream comes as text/event-stream; accept that.")
  const joined = await changes.connect({ tenant, principal, session: session.name, wants: LISTS })
  if (!joined.ok) return cannotListen(joined.problem, null)
  // After joining: whatever is subscribed to from now on reaches the socket by itself.
  const resources = await session.resources()
  if (!resources) return undefined
  await changes.subscribe(tenant, session.name, resources)
  const until = Math.min(expiresAt, session.expiresAt)
  return new Response(carry(joined, new ChangeEvents(), until), { headers: HEADERS })
}

/** Whether a request changes what its session is told of. */
export function isSubscription({ called: { id, method } }: Exchange): boolean {
  return id !== null && (method === "resources/subscribe" || method === "resources/unsubscribe")
}

/**
 * Answers `resources/subscribe` and `resources/unsubscribe`. What a session subscribed to stands with it on its
 * principal's list, so that the next stream knows; the stream that is open is told.
 *
 * @returns `undefined` where the session has ended
 */
export async function changeSubscription(
  { identity: { tenant }, called: { id, method, target: uri } }: Exchange,
  session: OpenSession,
  changes: ChangesClient,
): Promise<Response | undefined> {
  if (uri === undefined) return rpcError(400, -32_602, "Invalid params.uri: a subscription names a resource.", {}, id)
  const subscribes = method === "resources/subscribe"
  switch (await (subscribes ? session.subscribe(uri) : session.unsubscribe(uri))) {
    case "ended":
      return undefined
    case "full":
      return rpcError(
        400,
        -32_602,
        "The session cannot subscribe to that: name a URI, and at most 64 of them, of 4,096 bytes together.",
        {},
        id,
      )
    case "done":
      await (subscribes
        ? changes.subscribe(tenant, session.name, [uri])
        : changes.unsubscribe(tenant, session.name, uri))
      return Response.json({ jsonrpc: "2.0", id, result: {} })
  }
}

const ALLOWED = { Allow: "POST, DELETE" }

const HEADERS = { "Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform" }
