import { xchacha20poly1305 } from "@noble/ciphers/chacha.js"
import { hkdf } from "@noble/hashes/hkdf.js"
import { sha256 } from "@noble/hashes/sha2.js"
import type { Bytes } from "./bytes.ts"

export const KEY_BYTES = 32
export const TAG_BYTES = 16

/**
 * Encrypts and authenticates under one subkey. `decrypt` answers `undefined` for whatever it did not encrypt. Both have
 * read what they are given when the call returns: it may be scratch memory.
 */
export interface Cipher {
  encrypt(nonce: Bytes, associated: Bytes, plaintext: Bytes): Promise<ArrayBuffer | Uint8Array>
  decrypt(nonce: Bytes, associated: Bytes, ciphertext: Bytes): Promise<Uint8Array | undefined>
}

/** A way to encrypt. Its number is the token's version byte and an input of every derivation. */
export interface Suite {
  readonly number: 1 | 2
  readonly nonceBytes: number
  /** Holds the root key; each call derives the subkey for one `info` with HKDF-SHA256. */
  subkeysOf(key: Bytes): (info: Bytes) => Promise<Cipher>
}

/** AES-256-GCM by WebCrypto: the fastest in a Worker. No key leaves WebCrypto again. */
const AES_GCM: Suite = {
  number: 1,
  nonceBytes: 12,
  subkeysOf(key) {
    let root: CryptoKey | undefined
    return async (info) => {
      root ??= await crypto.subtle.importKey("raw", key, "HKDF", false, ["deriveKey"])
      return aesGcm(
        await crypto.subtle.deriveKey(
          { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(0), info },
          root,
          { name: "AES-GCM", length: 256 },
          false,
          ["encrypt", "decrypt"],
        ),
      )
    }
  },
}

function aesGcm(subkey: CryptoKey): Cipher {
  return {
    encrypt(iv, additionalData, plaintext) {
      return crypto.subtle.encrypt({ name: "AES-GCM", iv, additionalData }, subkey, plaintext)
    },
    decrypt(iv, additionalData, ciphertext) {
      return crypto.subtle.decrypt({ name: "AES-GCM", iv, additionalData }, subkey, ciphertext).then(
        (plaintext) => new Uint8Array(plaintext),
        () => undefined,
      )
    },
  }
}

/** XChaCha20-Poly1305 in plain JavaScript: the same on every runtime, and constant-time as far as JavaScript can be. */
const XCHACHA: Suite = {
  number: 2,
  nonceBytes: 24,
  subkeysOf(key) {
    return async (info) => xchacha(hkdf(sha256, key, undefined, info, KEY_BYTES))
  },
}

function xchacha(subkey: Uint8Array): Cipher {
  return {
    async encrypt(nonce, associated, plaintext) {
      return xchacha20poly1305(subkey, nonce, associated).encrypt(plaintext)
    },
    async decrypt(nonce, associated, ciphertext) {
      try {
        return xchacha20poly1305(subkey, nonce, associated).decrypt(ciphertext)
      } catch {
        return undefined
      }
    },
  }
}

/** The suite of a key's entry. */
export const SUITES = { 1: AES_GCM, 2: XCHACHA } as const
