import { bytesToHex } from "@noble/hashes/utils.js"
import { pae } from "./pae.ts"
import { type KeyRing, requireSealingKey } from "./ring.ts"

/** Eight bytes in hexadecimal for a name in parts: the same for the same parts, and nobody's guess to confirm. */
export type Pseudonyms = (...parts: readonly (Uint8Array | string | undefined)[]) => string

/**
 * Makes pseudonyms, by which an operator recognises a person or an argument from line to line and learns neither. They
 * are a keyed function under the key that seals now, so they change when the ring is rotated.
 *
 * They throw `SealError` when no key seals now.
 *
 * @example
 * const pseudonyms = createPseudonyms({ ring, now: Date.now })
 * pseudonyms("person", tenant, principal) // "3f0c9a51e2b7d684"
 */
export function createPseudonyms({ ring, now }: { readonly ring: KeyRing; readonly now: () => number }): Pseudonyms {
  return (...parts) => bytesToHex(requireSealingKey(ring, now()).pseudonym(pae(...parts)))
}
