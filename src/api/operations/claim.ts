import { base64UrlToBytes, bytesToBase64Url } from "../../seal/index.ts"
import type { Answer } from "../answer.ts"
import { problem } from "../problems.ts"

const NO_BYTES = new Uint8Array()

export function writeClaim(claim: Uint8Array): string {
  return bytesToBase64Url(claim)
}

/** Whatever is no claim reads as one that nobody holds. */
export function readClaim(text: string): Uint8Array {
  return base64UrlToBytes(text) ?? NO_BYTES
}

export function staleClaim(): Answer {
  return problem("stale_claim", "Stop: this attempt is over or was never begun; read the operation to see what stands.")
}
