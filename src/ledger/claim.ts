import type { Claim } from "./types.ts"

const FENCE_BYTES = 4
const CLAIM_BYTES = FENCE_BYTES + 16

/** A claim that nobody can guess. Its fence is one more than that of the claim before it. */
export function claimAfter(previous: Uint8Array | undefined): Claim {
  const bytes = crypto.getRandomValues(new Uint8Array(CLAIM_BYTES))
  new DataView(bytes.buffer).setUint32(0, previous === undefined ? 1 : fenceOf(asClaim(previous)) + 1)
  return asClaim(bytes)
}

/** Takes bytes for a claim; it says nothing about whether the claim is the current one. */
export function asClaim(bytes: Uint8Array): Claim {
  if (!isClaim(bytes)) throw new RangeError(`A claim has ${CLAIM_BYTES} bytes; pass on the one that the ledger gave.`)
  return bytes
}

function isClaim(bytes: Uint8Array): bytes is Claim {
  return bytes.byteLength === CLAIM_BYTES
}

function fenceOf(claim: Claim): number {
  return new DataView(claim.buffer, claim.byteOffset).getUint32(0)
}

/** Takes the same time wherever they differ. */
export function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.byteLength === other.byteLength && crypto.subtle.timingSafeEqual(one, other)
}
