import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { base64UrlToBytes, bytesToBase64Url } from "../../src/seal/index.ts"

describe("base64url", () => {
  it("spells the vectors of RFC 4648 section 10 without their padding", () => {
    const spelled = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map((text) =>
      bytesToBase64Url(new TextEncoder().encode(text)),
    )
    expect(spelled).toEqual(["", "Zg", "Zm8", "Zm9v", "Zm9vYg", "Zm9vYmE", "Zm9vYmFy"])
    expect(bytesToBase64Url(Uint8Array.of(0xfb, 0xff))).toBe("-_8")
  })

  it("gives back any bytes", () => {
    const roundTrip = fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      expect(base64UrlToBytes(bytesToBase64Url(bytes))).toEqual(bytes)
    })
    fc.assert(roundTrip, { numRuns: 1_000, endOnFailure: true })
  })

  it("is spelled the same where the engine cannot do it", () => {
    const alike = fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const older = Object.defineProperty(bytes.slice(), "toBase64", { value: undefined })
      expect(bytesToBase64Url(older)).toBe(bytesToBase64Url(bytes))
    })
    fc.assert(alike, { numRuns: 1_000, endOnFailure: true })
  })

  it("decodes one spelling of any bytes and no other text", () => {
    const single = fc.property(fc.string({ unit: fc.constantFrom(..."AQgwZ-_09+/= \n"), maxLength: 12 }), (text) => {
      const bytes = base64UrlToBytes(text)
      if (bytes) expect(bytesToBase64Url(bytes)).toBe(text)
    })
    fc.assert(single, { numRuns: 5_000, endOnFailure: true })
  })

  it.each([
    ["a length that no bytes have", "Zm9vY"],
    ["tail bits that are not zero", "Zh"],
    ["tail bits that are not zero, of two bytes", "Zm9"],
    ["padding", "Zg=="],
    ["the other alphabet", "+/8"],
    ["white space inside", "Zm 9v"],
    ["white space behind", "Zm9v\n"],
    ["a letter beyond ASCII whose low byte is in the alphabet", "Zm9\u0176"],
    ["a NUL", "Zm9\0"],
  ])("refuses %s", (_, text) => {
    expect(base64UrlToBytes(text)).toBeUndefined()
  })
})
