import type { Bytes } from "./suites.ts"
import { toUtf8 } from "./utf8.ts"

const LENGTH_BYTES = 4
const ABSENT = 0xffff_ffff

/**
 * Pre-authentication encoding: joins parts so that no two different lists meet in one byte string. The number of parts,
 * then each part behind its length, all as 32-bit big-endian numbers; an absent part has the length 2^32 - 1 and no
 * bytes, so it differs from an empty one.
 *
 * @example pae("ab", "c") // differs from pae("a", "bc"), pae("ab", "c", "") and pae("ab", "c", undefined)
 * @throws TypeError for a string with a lone surrogate: it has no UTF-8 form, and a replacement would meet another string.
 */
export function pae(...parts: readonly (Uint8Array | string | undefined)[]): Bytes {
  const encoded = parts.map((part) => (typeof part === "string" ? wellFormedUtf8(part) : part))
  let length = LENGTH_BYTES
  for (const part of encoded) length += LENGTH_BYTES + (part?.length ?? 0)

  const joined = new Uint8Array(length)
  const view = new DataView(joined.buffer)
  view.setUint32(0, encoded.length)
  let at = LENGTH_BYTES
  for (const part of encoded) {
    view.setUint32(at, part?.length ?? ABSENT)
    at += LENGTH_BYTES
    if (!part) continue
    joined.set(part, at)
    at += part.length
  }
  return joined
}

function wellFormedUtf8(text: string): Bytes {
  if (!text.isWellFormed()) throw new TypeError("A string with a lone surrogate cannot be encoded; refuse it earlier.")
  return toUtf8(text)
}
