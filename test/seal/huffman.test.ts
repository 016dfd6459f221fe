import { describe, expect, it } from "vitest"
import { BitReader, LayoutError, writeBits } from "../../src/seal/bits.ts"
import { huffmanBits, readHuffman, writeHuffman } from "../../src/seal/huffman.ts"
import { hexOf } from "./independent.ts"

describe("the Huffman code of RFC 7541", () => {
  it.each([
    ["www.example.com", "f1e3c2e5f23a6ba0ab90f4ff"],
    ["no-cache", "a8eb10649cbf"],
    ["custom-value", "25a849e95bb8e8b4bf"],
    ["Mon, 21 Oct 2013 20:13:21 GMT", "d07abe941054d444a8200595040b8166e082a62d1bff"],
    ["https://www.example.com", "9d29ad171863c78f0b97c8e9ae82ae43d3"],
    [
      "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
      "94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
    ],
  ])("writes %s as its appendix C does", (text, expected) => {
    const written = writeBits((to) => writeHuffman(to, text))
    expect(hexOf(written)).toBe(expected)
    expect(written.length).toBe(Math.ceil(huffmanBits(text) / 8))
    expect(readHuffman(new BitReader(written), text.length)).toBe(text)
  })

  it("gives back every character that has a code", () => {
    const printable = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index))
    const text = ["\0", ...printable].join("")
    const from = new BitReader(writeBits((to) => writeHuffman(to, text)))
    expect(readHuffman(from, text.length)).toBe(text)
    expect(() => from.finish()).not.toThrow()
  })

  it.each(["\x01", "\n", "\x7f", "\x80", "é", "\u0161", "\u{1f58b}"])("has no code for %j", (character) => {
    expect(huffmanBits(`a${character}`)).toBe(Infinity)
  })

  it("knows no other codes than these", () => {
    expect(() => readHuffman(new BitReader(new Uint8Array(4).fill(0xff)), 1)).toThrow(LayoutError)
  })
})

it.each([1, 2, 3, 4, 5, 6, 7, 8])("no byte may follow the one that a text of %i characters ends in", (length) => {
  const written = writeBits((to) => writeHuffman(to, "a".repeat(length)))
  const longer = new BitReader(Uint8Array.from([...written, 0xff]))
  readHuffman(longer, length)
  expect(() => longer.finish()).toThrow(LayoutError)
})
