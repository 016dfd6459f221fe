import { DurableObject } from "cloudflare:workers"
import { z } from "zod"
import { type Change, isWanted, mayName, Wants } from "./change.ts"

const MOST_OF_A_TENANT = 1_000
const MOST_OF_A_PRINCIPAL = 32

/** Whose limit keeps a listener out. */
export const Full = z.enum(["tenant_full", "principal_full"])
export type Full = z.infer<typeof Full>

/** RFC 6455 7.4.1. */
const NORMAL_CLOSURE = 1000
const POLICY_VIOLATION = 1008

/** One stream of one client, as the object is told of it. */
const Listener = z.object({
  /** Not who, but the same for the same. */
  principal: z.string(),
  /** The session whose stream it is, of which there is one at a time. */
  session: z.string().exactOptional(),
  wants: Wants,
})
export type Listener = z.infer<typeof Listener>

/**
 * One tenant's change bus: a Durable Object that passes on what has changed to whoever listens at that moment, over
 * sockets with which it hibernates. It stores nothing, so whoever is not listening misses it.
 *
 * Reached through `createChangesClient`, and never directly.
 */
export class Changes extends DurableObject {
  /** Opens the socket of one listener, or answers whose limit is reached. */
  override async fetch(request: Request): Promise<Response> {
    const { principal, session, wants } = Listener.parse(
      JSON.parse(new URL(request.url).searchParams.get("listener") ?? ""),
    )
    if (session !== undefined) this.dismiss(session)
    const full = this.#full(principal)
    if (full) return new Response(full, { status: 429 })
    const { 0: outer, 1: inner } = new WebSocketPair()
    this.ctx.acceptWebSocket(inner, session === undefined ? [principal] : [principal, session])
    write(inner, wants)
    return new Response(null, { status: 101, webSocket: outer })
  }

  /** Tells everyone who wants to know. */
  publish(change: Change): void {
    const message = JSON.stringify(change)
    for (const socket of this.#sockets()) {
      if (isWanted(change, read(socket))) socket.send(message)
    }
  }

  /** Has the stream of a session, if it has one, told of these too. */
  subscribe(session: string, uris: readonly string[]): void {
    for (const socket of this.#sockets(session)) {
      const wants = read(socket)
      const resourceSubscriptions = [...new Set([...(wants.resourceSubscriptions ?? []), ...uris])]
      if (mayName(resourceSubscriptions)) write(socket, { ...wants, resourceSubscriptions })
    }
  }

  /** Has it told of this no more. */
  unsubscribe(session: string, uri: string): void {
    for (const socket of this.#sockets(session)) {
      const wants = read(socket)
      write(socket, {
        ...wants,
        resourceSubscriptions: wants.resourceSubscriptions?.filter((one) => one !== uri) ?? [],
      })
    }
  }

  /** Ends the stream of a session, if it has one. */
  dismiss(session: string): void {
    for (const socket of this.#sockets(session)) socket.close(NORMAL_CLOSURE)
  }

  /** Listeners only listen. */
  override webSocketMessage(socket: WebSocket): void {
    socket.close(POLICY_VIOLATION, "A listener may not speak.")
  }

  #full(principal: string): Full | undefined {
    if (this.#sockets().length >= MOST_OF_A_TENANT) return "tenant_full"
    return this.#sockets(principal).length >= MOST_OF_A_PRINCIPAL ? "principal_full" : undefined
  }

  /** Those of a principal or a session, or all, that are open: one that is closing takes nothing, and counts for nobody. */
  #sockets(of?: string): WebSocket[] {
    return this.ctx.getWebSockets(of).filter(({ readyState }) => readyState === WebSocket.OPEN)
  }
}

/** What a listener wants stands beside its socket, which outlives this object's memory. */
function read(socket: WebSocket): Wants {
  return Wants.parse(socket.deserializeAttachment())
}

function write(socket: WebSocket, wants: Wants): void {
  socket.serializeAttachment(wants)
}
