import { pae } from "./pae.ts"
import type { RingKey } from "./ring.ts"
import type { Cipher } from "./suites.ts"
import type { Purpose } from "./types.ts"

const LABEL = "waxseal subkey v1"

/** `scope` parts the messages of one tenant: the hour of expiry for tokens, the operation for stored results. */
export function deriveSubkey(key: RingKey, purpose: Purpose, tenant: string, scope: string): Promise<Cipher> {
  return key.subkey(pae(LABEL, String(key.suite.number), purpose, tenant, scope))
}

/** A bounded set of derived subkeys; the one unused for longest makes room. */
export class SubkeyCache {
  readonly #ciphers = new Map<string, Cipher>()
  readonly #capacity: number

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** Looking changes nothing, so that a forged token can neither enter nor keep anything here. */
  peek(name: string): Cipher | undefined {
    return this.#ciphers.get(name)
  }

  /** Call it only once the subkey has sealed or opened something. */
  keep(name: string, cipher: Cipher): void {
    this.#ciphers.delete(name)
    this.#ciphers.set(name, cipher)
    if (this.#ciphers.size <= this.#capacity) return
    const [oldest] = this.#ciphers.keys()
    if (oldest !== undefined) this.#ciphers.delete(oldest)
  }
}
