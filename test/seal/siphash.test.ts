import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { sipHash } from "../../src/seal/siphash.ts"
import { hexOf, sipHash as independent } from "./independent.ts"

const counting = (length: number) => Uint8Array.from({ length }, (_, index) => index)

describe("SipHash-2-4", () => {
  // Key and messages of the paper's appendix A and of the reference implementation count up from zero.
  it.each([
    [0, "310e0edd47db6f72"],
    [1, "fd67dc93c539f874"],
    [2, "5a4fa9d909806c0d"],
    [3, "2d7efbd796666785"],
    [15, "e545be4961ca29a1"],
  ])("hashes %i bytes as its authors do", (length, expected) => {
    expect(hexOf(sipHash(counting(16))(counting(length)))).toBe(expected)
  })

  it("agrees with 64-bit arithmetic for any key and message", () => {
    const key = fc.uint8Array({ minLength: 16, maxLength: 16 })
    const agrees = fc.property(key, fc.uint8Array({ maxLength: 70 }), (key, message) => {
      expect([...sipHash(key)(message)]).toEqual(independent(key, message))
    })
    fc.assert(agrees, { numRuns: 1_000, endOnFailure: true })
  })
})
