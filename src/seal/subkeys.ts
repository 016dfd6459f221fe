import type { Bytes } from "./bytes.ts"
import { pae } from "./pae.ts"
import type { RingKey } from "./ring.ts"
import type { Cipher } from "./suites.ts"
import type { Purpose } from "./types.ts"

const LABEL = "waxseal subkey v1"

/** `scope` parts the messages of one tenant: the hour of expiry for tokens, the operation for stored results. */
export function deriveSubkey(key: RingKey, purpose: Purpose, tenant: string, scope: string): Promise<Cipher> {
  return key.subkey(pae(LABEL, String(key.suite.number), purpose, tenant, scope))
}

/** A derived subkey and the name that it is kept under. */
export interface Subkey {
  readonly name: string
  readonly cipher: Cipher
}

type Due<T> = T | Promise<T>

/** Encrypts what may be scratch memory: at once, or a copy where the subkey is still to come. */
export function encrypt(subkey: Due<Subkey>, nonce: Bytes, associated: Bytes, plaintext: Bytes) {
  if (!(subkey instanceof Promise)) return subkey.cipher.encrypt(nonce, associated, plaintext)
  const own = copies(nonce, associated, plaintext)
  return subkey.then(({ cipher }) => cipher.encrypt(...own))
}

/** Decrypts what may be scratch memory, in the same way. */
export function decrypt(subkey: Due<Subkey>, nonce: Bytes, associated: Bytes, ciphertext: Bytes) {
  if (!(subkey instanceof Promise)) return subkey.cipher.decrypt(nonce, associated, ciphertext)
  const own = copies(nonce, associated, ciphertext)
  return subkey.then(({ cipher }) => cipher.decrypt(...own))
}

function copies(nonce: Bytes, associated: Bytes, text: Bytes): [nonce: Bytes, associated: Bytes, text: Bytes] {
  return [nonce.slice(), associated.slice(), text.slice()]
}

/**
 * A bounded set of derived subkeys in two generations: once the young one is half the capacity, it becomes the old one,
 * and what nobody used since the last time is forgotten.
 */
export class SubkeyCache {
  readonly #half: number
  #young = new Map<string, Subkey>()
  #old = new Map<string, Subkey>()

  constructor(capacity: number) {
    this.#half = capacity / 2
  }

  /** Looking changes nothing, so that a forged token can neither enter nor keep anything here. */
  peek(name: string): Subkey | undefined {
    return this.#young.get(name) ?? this.#old.get(name)
  }

  /** Call it only once the subkey has sealed or opened something. */
  keep(subkey: Due<Subkey>): void {
    if (subkey instanceof Promise) {
      void subkey.then((there) => this.keep(there))
      return
    }
    if (this.#young.has(subkey.name)) return
    this.#young.set(subkey.name, subkey)
    if (this.#young.size < this.#half) return
    this.#old = this.#young
    this.#young = new Map()
  }
}
