import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { bytesToBase64Url, pae } from "../../src/seal/index.ts"

const part = fc.oneof(
  fc.constant(undefined),
  fc.string({ unit: fc.constantFrom("\0", "a", "ÿ", "\u{1f58b}"), maxLength: 4 }),
  fc.uint8Array({ maxLength: 5 }),
)

describe("pae", () => {
  it("writes the number of parts, then each behind its length, all big-endian", () => {
    expect([...pae("é", undefined, "")]).toEqual([
      0, 0, 0, 3, 0, 0, 0, 2, 0xc3, 0xa9, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0,
    ])
  })

  it("tells absent from empty, and where one part ends and the next begins", () => {
    const lists = [[], [undefined], [""], ["", ""], ["a", "b"], ["ab"], ["ab", ""], ["ab", undefined], ["a", "", "b"]]
    const spelled = lists.map((parts) => bytesToBase64Url(pae(...parts)))
    expect(new Set(spelled).size).toBe(lists.length)
  })

  it("joins no two different lists into the same bytes", () => {
    const asBytes = (value: string | Uint8Array | undefined) =>
      value === undefined ? undefined : [...(typeof value === "string" ? new TextEncoder().encode(value) : value)]
    const injective = fc.property(fc.array(part, { maxLength: 4 }), fc.array(part, { maxLength: 4 }), (one, other) => {
      const same = JSON.stringify(one.map(asBytes)) === JSON.stringify(other.map(asBytes))
      expect(bytesToBase64Url(pae(...one)) === bytesToBase64Url(pae(...other))).toBe(same)
    })
    fc.assert(injective, { numRuns: 3_000, endOnFailure: true })
  })

  it("refuses a lone surrogate, which a replacement character would make equal to another string", () => {
    expect(() => pae("a\ud800")).toThrow(TypeError)
  })
})
