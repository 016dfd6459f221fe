import type { Claim } from "./types.ts"

const FENCE_BYTES = 4
const CLAIM_BYTES = FENCE_BYTES + 16

/** Stands where there was never a claim. */
export const NO_CLAIM = new Uint8Array()

/** A claim that nobody can guess. Its fence is one more than that of the claim before it, if there was one. */
export function claimAfter(previous: Uint8Array): Claim {
  return claimWithFence(previous.byteLength === 0 ? 1 : fenceOf(asClaim(previous)) + 1)
}

/** Keeps the fence and is given to nobody: whoever held the claim is superseded. */
export function disowned(claim: Uint8Array): Claim {
  return claimWithFence(fenceOf(asClaim(claim)))
}

/** Takes bytes for a claim; it says nothing about whether the claim is the current one. */
export function asClaim(bytes: Uint8Array): Claim {
  if (!isClaim(bytes)) throw new RangeError(`A claim has ${CLAIM_BYTES} bytes; pass on the one that the ledger gave.`)
  return bytes
}

/** How many claims the operation has had, this one included. */
export function fenceOf(claim: Claim): number {
  return new DataView(claim.buffer, claim.byteOffset).getUint32(0)
}

/** Takes the same time wherever they differ. */
export function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.byteLength === other.byteLength && crypto.subtle.timingSafeEqual(one, other)
}

function claimWithFence(fence: number): Claim {
  const bytes = crypto.getRandomValues(new Uint8Array(CLAIM_BYTES))
  new DataView(bytes.buffer).setUint32(0, fence)
  return asClaim(bytes)
}

function isClaim(bytes: Uint8Array): bytes is Claim {
  return bytes.byteLength === CLAIM_BYTES
}
