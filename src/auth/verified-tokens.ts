import type { Identity } from "./identity.ts"

/** Tokens remembered at most: some hundreds of bytes each. */
const CAPACITY = 4_096
/** A token is verified again after this time, so that a key that has left the set stops working. */
const LONGEST_MS = 300_000

interface Remembered {
  readonly identity: Identity
  readonly until: number
}

/**
 * Remembers tokens that were verified a moment ago, because a signature costs more than everything else at the door.
 * Never past a token's expiry; the least recently used goes first. What it forgets is verified again: nothing depends on
 * it but time.
 */
export class VerifiedTokens {
  readonly #remembered = new Map<string, Remembered>()

  find(token: string, audience: string): Identity | undefined {
    const name = nameOf(token, audience)
    const found = this.#remembered.get(name)
    if (!found) return undefined
    this.#remembered.delete(name)
    if (Date.now() >= found.until) return undefined
    this.#remembered.set(name, found)
    return found.identity
  }

  /** @param expiry the token's `exp`, in seconds since 1970 */
  keep(token: string, audience: string, identity: Identity, expiry: number): void {
    const [oldest] = this.#remembered.keys()
    if (oldest !== undefined && this.#remembered.size >= CAPACITY) this.#remembered.delete(oldest)
    const until = Math.min(expiry * 1_000, Date.now() + LONGEST_MS)
    this.#remembered.set(nameOf(token, audience), { identity, until })
  }
}

/** No token has a space in it. */
function nameOf(token: string, audience: string): string {
  return `${token} ${audience}`
}
