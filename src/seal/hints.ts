import type { BoundFields } from "./binding.ts"
import type { Reason } from "./types.ts"

const HINT_BYTES = 2
export const HINTS_BYTES = 3 * HINT_BYTES

/**
 * Two bytes each for principal, audience and request, so that the operator learns why a token did not open. They decide
 * nothing: they are read only after decryption failed. `mask` is a keyed function of the token's nonce; under it they
 * neither link two tokens nor confirm a guess.
 */
export function hintsFor(fields: BoundFields, mask: Uint8Array): Uint8Array {
  const hints = new Uint8Array(HINTS_BYTES)
  const view = new DataView(hints.buffer)
  view.setUint16(0, digest16(fields.principal))
  view.setUint16(2, digest16(fields.audience))
  view.setUint16(4, digest16(fields.request))
  return hints.map((byte, index) => byte ^ (mask[index] ?? 0))
}

/** The first field that differs, in the order of precedence; else nobody can tell. */
export function hintedReason(
  carried: Uint8Array,
  expected: Uint8Array,
): Reason & ("principal" | "audience" | "request" | "forged") {
  const differs = (field: number) =>
    carried[HINT_BYTES * field] !== expected[HINT_BYTES * field] ||
    carried[HINT_BYTES * field + 1] !== expected[HINT_BYTES * field + 1]
  if (differs(0)) return "principal"
  if (differs(1)) return "audience"
  return differs(2) ? "request" : "forged"
}

/** FNV-1a of 32 bits, folded to 16. The mask makes it a secret, not the hash. */
function digest16(bytes: Uint8Array): number {
  let hash = 0x811c9dc5
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193)
  return (hash >>> 16) ^ (hash & 0xffff)
}
