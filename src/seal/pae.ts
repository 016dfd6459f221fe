import type { Bytes } from "./bytes.ts"
import { type Memory, ownMemory } from "./scratch.ts"
import { putUtf8 } from "./utf8.ts"

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
  return paeIn(ownMemory, parts)
}

/** As `pae`, in this memory. */
export function paeIn(memory: Memory, parts: readonly Part[]): Bytes {
  let most = LENGTH_BYTES
  for (const part of parts) most += LENGTH_BYTES + mostBytes(part)
  const joined = memory(most)
  putLength(joined, 0, parts.length)
  let at = LENGTH_BYTES
  for (const part of parts) {
    const size = putPart(joined, at + LENGTH_BYTES, part)
    putLength(joined, at, part === undefined ? ABSENT : size)
    at += LENGTH_BYTES + size
  }
  return joined.subarray(0, at)
}

function mostBytes(part: Part): number {
  return typeof part === "string" ? part.length * 3 : (part?.length ?? 0)
}

function putPart(bytes: Bytes, at: number, part: Part): number {
  if (part === undefined) return 0
  if (typeof part === "string") return putUtf8(bytes, at, part)
  bytes.set(part, at)
  return part.length
}

function putLength(bytes: Bytes, at: number, length: number): void {
  bytes[at] = length >>> 24
  bytes[at + 1] = length >>> 16
  bytes[at + 2] = length >>> 8
  bytes[at + 3] = length
}
