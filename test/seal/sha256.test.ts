import fc from "fast-check"
import { expect, it } from "vitest"
import { sha256 } from "../../src/seal/sha256.ts"
import { hexOf } from "./independent.ts"

async function byWebCrypto(text: string): Promise<string> {
  return hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))))
}

it("hashes the examples of FIPS 180-4", async () => {
  expect(hexOf(await sha256("abc"))).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  expect(hexOf(await sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"))).toBe(
    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
  )
})

it("agrees with WebCrypto at every length, across all paddings and into the lengths that WebCrypto hashes", async () => {
  for (let length = 0; length <= 700; length++) {
    const text = String.fromCharCode(...Array.from({ length }, (_, index) => (index * 31 + length) & 0x7f))
    expect(hexOf(await sha256(text)), `${length} bytes`).toBe(await byWebCrypto(text))
  }
})

it("agrees with WebCrypto on any text", async () => {
  const text = fc.string({ unit: "binary", maxLength: 300 })
  await fc.assert(
    fc.asyncProperty(text, async (text) => {
      expect(hexOf(await sha256(text))).toBe(await byWebCrypto(text))
    }),
    { numRuns: 1_000 },
  )
})
