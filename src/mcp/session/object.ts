import { DurableObject } from "cloudflare:workers"
import type { McpServer } from "@modelcontextprotocol/server"
import type { TenantId } from "../../brands.ts"
import type { RuntimeParts } from "../../operation/index.ts"
import type { Home } from "../../seal/index.ts"
import type { Exchanges } from "../offer.ts"
import { Conversation } from "./conversation.ts"
import type { SessionListStub, SessionRequest, SessionStub } from "./message.ts"

/** How long the list's word is good, in milliseconds: an object that could not be told of its end serves no longer. */
const LIST_GOOD_FOR_MS = 60_000

/**
 * One session while it is talked to. It stores nothing and sets no alarm: evicted, it is gone, and the next message makes
 * it anew from what the session's id says. Whether the session was ended stands on its principal's list, where a new
 * object looks, and again each minute.
 */
export abstract class SessionObject<Env> extends DurableObject<Env> implements SessionStub {
  #hasEnded = false
  #isOnList: Promise<boolean> | undefined
  #askedAt = Number.NEGATIVE_INFINITY
  #conversation: Promise<Conversation> | undefined

  protected abstract createServer(exchanges: Exchanges): McpServer
  /** What operations run on, with new records at this home. */
  protected abstract partsAt(home: Home): RuntimeParts
  protected abstract listOf(tenant: TenantId, name: string): SessionListStub

  /** Answers one message; `undefined` where the session has ended. */
  async serve(request: SessionRequest): Promise<Response | undefined> {
    if (!(await this.#isLiving(request))) return undefined
    const parts = this.partsAt(request.home)
    this.#conversation ??= this.#open(request, parts)
    const conversation = await this.#conversation
    return this.#hasEnded ? undefined : conversation.take(request, parts)
  }

  /** Ends the session: its streams close, and this object serves it no more. */
  async end(): Promise<void> {
    this.#hasEnded = true
    await (await this.#conversation)?.close()
  }

  /** An end that is told while the list is asked wins; one that could not be told is on the list. */
  async #isLiving({ session, identity }: SessionRequest): Promise<boolean> {
    const now = Date.now()
    if (now - this.#askedAt >= LIST_GOOD_FOR_MS) {
      this.#askedAt = now
      this.#isOnList = this.listOf(identity.tenant, session.list).has(session.name)
    }
    try {
      const isOnList = await this.#isOnList
      if (!isOnList) await this.end()
    } catch (error) {
      this.#askedAt = Number.NEGATIVE_INFINITY
      throw error
    }
    return !this.#hasEnded
  }

  #open({ session, audience }: SessionRequest, { ttlSeconds }: RuntimeParts): Promise<Conversation> {
    return Conversation.open(session, audience, ttlSeconds * 1_000, (exchanges) => this.createServer(exchanges))
  }
}
