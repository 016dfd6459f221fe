import { DurableObject } from "cloudflare:workers"
import { mayName } from "../changes/index.ts"
import type { Subscribed } from "./message.ts"

/** A principal's sessions at one time. The oldest ends where another begins beyond it. */
export const MOST_SESSIONS = 100

const KEY = "sessions"

interface Entry {
  readonly name: string
  readonly expiresAt: number
  /** What it subscribed to, which {@link mayName} bounds. */
  readonly resources?: readonly string[]
}

/**
 * The living sessions of one principal: a session that is not on this list has ended. It is the only thing that sessions
 * store, so what a principal can have stored is bounded: 100 sessions. It has one alarm, for when the last of them
 * expires.
 */
export class SessionList extends DurableObject {
  /** Adds a session, and gives the names of those that have to end for it. */
  add(name: string, expiresAt: number): string[] {
    const living = this.#living()
    const ending = living.slice(0, Math.max(0, living.length + 1 - MOST_SESSIONS))
    this.#write([...living.slice(ending.length), { name, expiresAt }])
    return ending.map((entry) => entry.name)
  }

  /** Takes a session off, and says whether it was on. */
  remove(name: string): boolean {
    const living = this.#living()
    const left = living.filter((entry) => entry.name !== name)
    if (left.length === living.length) return false
    this.#write(left)
    return true
  }

  /** Whether a session is on it. */
  has(name: string): boolean {
    return this.#living().some((entry) => entry.name === name)
  }

  /** What a session subscribed to; `undefined` where it has ended. */
  resources(name: string): readonly string[] | undefined {
    const entry = this.#living().find((one) => one.name === name)
    return entry && (entry.resources ?? [])
  }

  /** Adds a resource to what a session subscribed to. */
  subscribe(name: string, uri: string): Subscribed {
    return this.#change(name, (resources) => [...new Set([...resources, uri])])
  }

  /** Takes a resource off what a session subscribed to. */
  unsubscribe(name: string, uri: string): Subscribed {
    return this.#change(name, (resources) => resources.filter((one) => one !== uri))
  }

  #change(name: string, change: (resources: readonly string[]) => readonly string[]): Subscribed {
    const living = this.#living()
    const entry = living.find((one) => one.name === name)
    if (!entry) return "ended"
    const before = entry.resources ?? []
    const resources = change(before)
    if (!mayName(resources)) return "full"
    if (resources.length !== before.length)
      this.#write(living.map((one) => (one === entry ? { ...one, resources } : one)))
    return "done"
  }

  /** Gives back what has expired. */
  override alarm(): void {
    this.#write(this.#living())
  }

  #living(): Entry[] {
    const now = Date.now()
    return (this.ctx.storage.kv.get<Entry[]>(KEY) ?? []).filter(({ expiresAt }) => expiresAt > now)
  }

  /** Sessions live equally long, so the newest is the last to expire. An empty list is given back with its alarm. */
  #write(entries: Entry[]): void {
    const newest = entries.at(-1)
    if (!newest) return void this.ctx.storage.deleteAll()
    this.ctx.storage.kv.put(KEY, entries)
    void this.ctx.storage.setAlarm(newest.expiresAt)
  }
}
