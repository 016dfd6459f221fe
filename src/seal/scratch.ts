import type { Bytes } from "./bytes.ts"

/** Gives so many bytes to write into. */
export type Memory = (length: number) => Bytes

/** For what is kept. */
export const ownMemory: Memory = (length) => new Uint8Array(length)

/**
 * Memory for bytes that are handed on at once: it gives so many, and the same again to whoever asks next. An array of
 * their own would have to be allocated outside the engine's heap for every call of WebCrypto, which costs as much as
 * encrypting a short body.
 *
 * Between filling them and handing them on nothing may wait, and no code of others may run, which could take them, too. A
 * cipher has read them when its call returns, before its promise resolves: WebCrypto copies what it is given first (Web
 * Cryptography Level 2, section 14.3).
 */
export function createScratch(bytes: number): Memory {
  const memory = new Uint8Array(bytes)
  return (length) => (length <= bytes ? memory.subarray(0, length) : ownMemory(length))
}
