import { DurableObject } from "cloudflare:workers"
import { z } from "zod"
import { type Change, isWanted, Wants } from "./change.ts"

const MOST_OF_A_TENANT = 1_000
const MOST_OF_A_PRINCIPAL = 16

/** Whose limit keeps a listener out. */
export const Full = z.enum(["tenant_full", "principal_full"])
export type Full = z.infer<typeof Full>

/** RFC 6455 7.4.1: what was said breaks the rules of who hears it. */
const POLICY_VIOLATION = 1008

/** One stream of one client, as the object is told of it. */
const Listener = z.object({
  /** Not who, but the same for the same. */
  principal: z.string(),
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
    const { principal, wants } = Listener.parse(JSON.parse(new URL(request.url).searchParams.get("listener") ?? ""))
    const full = this.#full(principal)
    if (full) return new Response(null, { status: 429, statusText: full })
    const { 0: outer, 1: inner } = new WebSocketPair()
    this.ctx.acceptWebSocket(inner, [principal])
    inner.serializeAttachment(wants)
    return new Response(null, { status: 101, webSocket: outer })
  }

  /** Tells everyone who wants to know. */
  publish(change: Change): void {
    const message = JSON.stringify(change)
    for (const socket of this.#sockets()) {
      if (isWanted(change, Wants.parse(socket.deserializeAttachment()))) socket.send(message)
    }
  }

  /** Listeners only listen. */
  override webSocketMessage(socket: WebSocket): void {
    socket.close(POLICY_VIOLATION, "A listener may not speak.")
  }

  #full(principal: string): Full | undefined {
    if (this.#sockets().length >= MOST_OF_A_TENANT) return "tenant_full"
    return this.#sockets(principal).length >= MOST_OF_A_PRINCIPAL ? "principal_full" : undefined
  }

  /** Those that are open: one that is closing takes nothing, and counts for nobody. */
  #sockets(principal?: string): WebSocket[] {
    return this.ctx.getWebSockets(principal).filter(({ readyState }) => readyState === WebSocket.OPEN)
  }
}
