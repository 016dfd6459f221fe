import type { Identity } from "./identity.ts"

/** A token that was verified: whom it names, and until when, in milliseconds since 1970. */
export interface Grant {
  readonly identity: Identity
  readonly expiresAt: number
}

/** Tokens remembered at most: some hundreds of bytes each. */
const CAPACITY = 4_096
/** A token is verified again after this time, so that a key that has left the set stops working. */
const LONGEST_MS = 300_000

interface Remembered {
  readonly audience: string
  readonly grant: Grant
  readonly until: number
}

/**
 * Remembers tokens that were verified a moment ago, because a signature costs more than everything else at the door.
 * Never past a token's expiry; the least recently used goes first. What it forgets is verified again: nothing depends on
 * it but time. Of the audiences that it was verified for, a token is remembered with the last one: few tokens have more.
 */
export class VerifiedTokens {
  readonly #remembered = new Map<string, Remembered>()

  find(token: string, audience: string): Grant | undefined {
    const found = this.#remembered.get(token)
    if (found?.audience !== audience) return undefined
    this.#remembered.delete(token)
    if (Date.now() >= found.until) return undefined
    this.#remembered.set(token, found)
    return found.grant
  }

  keep(token: string, audience: string, grant: Grant): void {
    const [oldest] = this.#remembered.keys()
    if (oldest !== undefined && this.#remembered.size >= CAPACITY) this.#remembered.delete(oldest)
    const until = Math.min(grant.expiresAt, Date.now() + LONGEST_MS)
    this.#remembered.set(token, { audience, grant, until })
  }
}
