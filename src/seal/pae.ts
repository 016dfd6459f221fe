import type { Bytes } from "./bytes.ts"
import { putUtf8, utf8Length } from "./utf8.ts"

const LENGTH_BYTES = 4
const ABSENT = 0xffff_ffff

type Part = Uint8Array | string | undefined

/**
 * Pre-authentication encoding: joins parts so that no two different lists meet in one byte string. The number of parts,
 * then each part behind its length, all as 32-bit big-endian numbers; an absent part has the length 2^32 - 1 and no
 * bytes, so it differs from an empty one.
 *
 * @example pae("ab", "c") // differs from pae("a", "bc"), pae("ab", "c", "") and pae("ab", "c", undefined)
 * @throws TypeError for a string with a lone surrogate: it has no UTF-8 form, and a replacement would meet another string.
 */
export function pae(...parts: readonly Part[]): Bytes {
  const sizes: number[] = []
  let length = LENGTH_BYTES
  for (const part of parts) {
    const size = bytesIn(part)
    sizes.push(size)
    length += LENGTH_BYTES + size
  }
  const joined = new Uint8Array(length)
  putLength(joined, 0, parts.length)
  let at = LENGTH_BYTES
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index]
    const size = sizes[index] ?? 0
    putLength(joined, at, part === undefined ? ABSENT : size)
    at += LENGTH_BYTES
    if (typeof part === "string") putUtf8(joined, at, part)
    else if (part) joined.set(part, at)
    at += size
  }
  return joined
}

function putLength(bytes: Bytes, at: number, length: number): void {
  bytes[at] = length >>> 24
  bytes[at + 1] = length >>> 16
  bytes[at + 2] = length >>> 8
  bytes[at + 3] = length
}

function bytesIn(part: Part): number {
  if (typeof part !== "string") return part?.length ?? 0
  if (!part.isWellFormed()) throw new TypeError("A string with a lone surrogate cannot be encoded; refuse it earlier.")
  return utf8Length(part)
}
