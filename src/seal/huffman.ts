import { type BitReader, type BitWriter, LayoutError } from "./bits.ts"

/** RFC 7541 appendix B: bits of the code of each byte, and of the end of string (256), which no text holds. */
const BITS = Uint8Array.of(
  13,
  23,
  28,
  28,
  28,
  28,
  28,
  28,
  28,
  24,
  30,
  28,
  28,
  30,
  28,
  28,
  28,
  28,
  28,
  28,
  28,
  28,
  30,
  28,
  28,
  28,
  28,
  28,
  28,
  28,
  28,
  28,
  6,
  10,
  10,
  12,
  13,
  6,
  8,
  11,
  10,
  10,
  8,
  11,
  8,
  6,
  6,
  6,
  5,
  5,
  5,
  6,
  6,
  6,
  6,
  6,
  6,
  6,
  7,
  8,
  15,
  6,
  12,
  10,
  13,
  6,
  7,
  7,
  7,
  7,
  7,
  7,
  7,
  7,
  7,
  7,
  7,
  7,
  7,
  7,
  7,
  7,
  7,
  7,
  7,
  7,
  7,
  7,
  8,
  7,
  8,
  13,
  19,
  13,
  14,
  6,
  15,
  5,
  6,
  5,
  6,
  5,
  6,
  6,
  6,
  5,
  7,
  7,
  6,
  6,
  6,
  5,
  6,
  7,
  6,
  5,
  5,
  6,
  7,
  7,
  7,
  7,
  7,
  15,
  11,
  14,
  13,
  28,
  20,
  22,
  20,
  20,
  22,
  22,
  22,
  23,
  22,
  23,
  23,
  23,
  23,
  23,
  24,
  23,
  24,
  24,
  22,
  23,
  24,
  23,
  23,
  23,
  23,
  21,
  22,
  23,
  22,
  23,
  23,
  24,
  22,
  21,
  20,
  22,
  22,
  23,
  23,
  21,
  23,
  22,
  22,
  24,
  21,
  22,
  23,
  23,
  21,
  21,
  22,
  21,
  23,
  22,
  23,
  23,
  20,
  22,
  22,
  22,
  23,
  22,
  22,
  23,
  26,
  26,
  20,
  19,
  22,
  23,
  22,
  25,
  26,
  26,
  26,
  27,
  27,
  26,
  24,
  25,
  19,
  21,
  26,
  27,
  27,
  26,
  27,
  24,
  21,
  21,
  26,
  26,
  28,
  27,
  27,
  27,
  20,
  24,
  20,
  21,
  22,
  21,
  21,
  23,
  22,
  22,
  25,
  25,
  24,
  24,
  26,
  23,
  26,
  27,
  26,
  26,
  27,
  27,
  27,
  27,
  27,
  28,
  27,
  27,
  27,
  27,
  27,
  26,
  30,
)
const END_OF_STRING = 256
const SYMBOLS = BITS.length

const CODES = new Uint32Array(SYMBOLS)
/** Two children a node, at 2 * node + bit: the next node, or the complement of the symbol that the path spells. */
const TREE = new Int16Array(2 * (SYMBOLS - 1))
plantTree()

/** How many bits the code of these bytes takes. */
export function huffmanBits(bytes: Uint8Array): number {
  let bits = 0
  for (const byte of bytes) bits += bitsOf(byte)
  return bits
}

export function writeHuffman(to: BitWriter, bytes: Uint8Array): void {
  for (const byte of bytes) writeCode(to, CODES[byte] ?? 0, bitsOf(byte))
}

export function readHuffman(from: BitReader, length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length)
  for (let index = 0; index < length; index++) bytes[index] = readSymbol(from)
  return bytes
}

function writeCode(to: BitWriter, code: number, bits: number): void {
  if (bits > 16) to.bits(code >>> 16, bits - 16)
  to.bits(code & 0xffff, Math.min(bits, 16))
}

function readSymbol(from: BitReader): number {
  let node = 0
  do node = TREE[2 * node + from.bits(1)] ?? 0
  while (node > 0)
  const symbol = ~node
  if (symbol === END_OF_STRING) throw new LayoutError("A text holds the end of string.")
  return symbol
}

function bitsOf(symbol: number): number {
  return BITS[symbol] ?? 0
}

/** The code is canonical: codes of one length are consecutive, in the order of their symbols. */
function plantTree(): void {
  const shortestFirst = Array.from(BITS.keys()).sort((a, b) => bitsOf(a) - bitsOf(b) || a - b)
  let code = 0
  let bits = 0
  let nodes = 1
  for (const symbol of shortestFirst) {
    code <<= bitsOf(symbol) - bits
    bits = bitsOf(symbol)
    CODES[symbol] = code
    nodes = plantLeaf(symbol, code, bits, nodes)
    code++
  }
}

/** Walks from the root along the code, adding the nodes that are not there yet; answers how many nodes there are now. */
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
