import { describe, expect, it } from "vitest"
import { BitReader, writeBits } from "../../src/seal/bits.ts"
import { huffmanBits, readHuffman, writeHuffman } from "../../src/seal/huffman.ts"
import { hexOf } from "./independent.ts"

const ascii = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0))

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
    const written = writeBits((to) => writeHuffman(to, ascii(text)))
    expect(hexOf(written)).toBe(expected)
    expect(written.length).toBe(Math.ceil(huffmanBits(ascii(text)) / 8))
    expect(readHuffman(new BitReader(written), text.length)).toEqual(ascii(text))
  })

  it("gives back every byte", () => {
    const everyByte = Uint8Array.from({ length: 256 }, (_, byte) => byte)
    const from = new BitReader(writeBits((to) => writeHuffman(to, everyByte)))
    expect(readHuffman(from, 256)).toEqual(everyByte)
    expect(() => from.finish()).not.toThrow()
  })
})
