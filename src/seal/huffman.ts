import { type BitReader, type BitWriter, type PrefixCode, WIDEST_FIELD } from "./bits.ts"

/**
 * RFC 7541 appendix B for NUL and the printable characters of ASCII: by length, the characters whose codes have it, in
 * the order of their codes. No other byte has a code of fewer than 19 bits, so none would gain by one.
 */
const CHARACTERS: readonly (readonly [bits: number, characters: string])[] = [
  [5, "012aceiost"],
  [6, " %-./3456789=A_bdfghlmnpru"],
  [7, ":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz"],
  [8, "&*,;XZ"],
  [10, '!"()?'],
  [11, "'+|"],
  [12, "#>"],
  [13, "\0$@[]~"],
  [14, "^}"],
  [15, "<`{"],
  [19, "\\"],
]

/** By character code; no bits where it has no code. */
const BITS = new Uint8Array(128)
const CODES = new Uint32Array(128)
const STARTS = new Uint16Array(256)
const TREE = new Int16Array(512)
const FOR_READING: PrefixCode = { starts: STARTS, tree: TREE }
plantTree()

/** How many bits the text takes, or `Infinity` where a character has no code. */
export function huffmanBits(text: string): number {
  let total = 0
  for (let index = 0; index < text.length; index++) {
    const bits = BITS[text.charCodeAt(index)] ?? 0
    if (bits === 0) return Infinity
    total += bits
  }
  return total
}

/** Hands on as many codes at once as a field may be wide. */
export function writeHuffman(to: BitWriter, text: string): void {
  let codes = 0
  let width = 0
  for (let index = 0; index < text.length; index++) {
    const character = text.charCodeAt(index)
    const bits = BITS[character] ?? 0
    if (width + bits > WIDEST_FIELD) {
      to.bits(codes, width)
      codes = 0
      width = 0
    }
    codes = (codes << bits) | (CODES[character] ?? 0)
    width += bits
  }
  to.bits(codes, width)
}

export function readHuffman(from: BitReader, length: number): string {
  const characters: number[] = []
  for (let left = length; left > 0; left--) characters.push(from.symbol(FOR_READING))
  return String.fromCharCode(...characters)
}

/** The code is canonical: the codes of one length are consecutive, and the next length goes on from there. */
function plantTree(): void {
  let code = 0
  let bitsBefore = 0
  let nodes = 1
  for (const [bits, characters] of CHARACTERS) {
    code <<= bits - bitsBefore
    bitsBefore = bits
    for (const character of characters) {
      const symbol = character.charCodeAt(0)
      BITS[symbol] = bits
      CODES[symbol] = code
      if (bits <= 8) STARTS.fill((symbol << 4) | bits, code << (8 - bits), (code + 1) << (8 - bits))
      nodes = plantLeaf(symbol, code, bits, nodes)
      code++
    }
  }
}

/** Follows the code from the root, adding the nodes that are not there yet; answers how many nodes there are then. */
function plantLeaf(symbol: number, code: number, bits: number, nodes: number): number {
  let node = 0
  let count = nodes
  for (let left = bits - 1; left > 0; left--) {
    const branch = 2 * node + ((code >>> left) & 1)
    if (TREE[branch] === 0) TREE[branch] = count++
    node = TREE[branch] ?? 0
  }
  TREE[2 * node + (code & 1)] = ~symbol
  return count
}
