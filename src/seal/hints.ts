import type { Bytes } from "./bytes.ts"
import type { Binding, Reason } from "./types.ts"
import { toUtf8 } from "./utf8.ts"

const FIELDS = ["principal", "audience", "request"] as const
const HINT_BYTES = 2
export const HINTS_BYTES = FIELDS.length * HINT_BYTES

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193
/** Occurs in no UTF-8. */
const END_OF_PART = 0xff

/**
 * Two bytes each for principal, audience and request, so that the operator learns why a token did not open. They decide
 * nothing: they are read only after decryption failed. `mask` is a keyed function of the token's nonce; under it they
 * neither link two tokens nor confirm a guess.
 */
export function hintsFor(binding: Binding, mask: Uint8Array): Bytes {
  const { principal, audience, method, target, argumentsDigest } = binding
  const hints = new Uint8Array(HINTS_BYTES)
  putHint(hints, 0, mask, hashPart(FNV_OFFSET, principal))
  putHint(hints, 2, mask, hashPart(FNV_OFFSET, audience))
  putHint(hints, 4, mask, hashPart(hashPart(hashPart(FNV_OFFSET, method), target), argumentsDigest))
  return hints
}

/** FNV-1a of 32 bits, folded to 16. */
function putHint(hints: Bytes, at: number, mask: Uint8Array, hash: number): void {
  const folded = (hash >>> 16) ^ hash
  hints[at] = (folded >>> 8) ^ (mask[at] ?? 0)
  hints[at + 1] = folded ^ (mask[at + 1] ?? 0)
}

/** The first field that differs, in the order of precedence; where none does, nobody can tell. */
export function hintedReason(carried: Uint8Array, expected: Uint8Array): Exclude<Reason, "expired"> {
  const at = carried.findIndex((byte, index) => byte !== expected[index])
  return FIELDS[Math.floor(at / HINT_BYTES)] ?? "forged"
}

/** FNV-1a of 32 bits goes on over a part, if there is one. The mask makes it a secret, not the hash. */
function hashPart(hash: number, part: Uint8Array | string | undefined): number {
  if (part === undefined) return hash
  const hashed = typeof part === "string" ? hashText(hash, part) : hashBytes(hash, part)
  return Math.imul(hashed ^ END_OF_PART, FNV_PRIME)
}

/** Of the text's UTF-8; most texts are ASCII, where a unit is a byte. */
function hashText(start: number, text: string): number {
  let hash = start
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit > 0x7f) return hashBytes(hash, toUtf8(text.slice(index)))
    hash = Math.imul(hash ^ unit, FNV_PRIME)
  }
  return hash
}

function hashBytes(start: number, bytes: Uint8Array): number {
  let hash = start
  for (const byte of bytes) hash = Math.imul(hash ^ byte, FNV_PRIME)
  return hash
}
