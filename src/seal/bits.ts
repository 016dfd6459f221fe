import type { Bytes } from "./bytes.ts"

/** A sealed body that does not follow the layout. Only the holder of a key can have made it. */
export class LayoutError extends Error {
  override readonly name = "LayoutError"
}

/** Whole numbers travel in digits of five bits, each behind a bit that says whether more follow. */
const DIGIT_BITS = 5
const DIGIT_BASE = 2 ** DIGIT_BITS

/** With what is left of the field before, so many bits fit into a number. */
export const WIDEST_FIELD = 24

/** Longer than any body with the longest state. */
const LONGEST_BODY = 16_384

/** One buffer for one writer after the other. Who seals in the middle of it, in a getter of the state, brings their own. */
let spare: Bytes | undefined = new Uint8Array(LONGEST_BODY)

/**
 * Writes fields of any width, most significant bit first, and answers all of them, the last byte filled with ones. They
 * are scratch memory: the next call takes it again.
 */
export function writeBits(write: (to: BitWriter) => void): Bytes {
  const buffer = spare ?? new Uint8Array(LONGEST_BODY)
  spare = undefined
  try {
    const to = new BitWriter(buffer)
    write(to)
    return to.finish()
  } finally {
    spare = buffer
  }
}

class BitWriter {
  readonly #buffer: Bytes
  #length = 0
  #pending = 0
  #pendingBits = 0

  constructor(buffer: Bytes) {
    this.#buffer = buffer
  }

  /** A value of `width` bits, at most 24. */
  bits(value: number, width: number): void {
    this.#pending = (this.#pending << width) | value
    this.#pendingBits += width
    while (this.#pendingBits >= 8) {
      this.#pendingBits -= 8
      this.#buffer[this.#length++] = this.#pending >>> this.#pendingBits
    }
  }

  flag(value: boolean): void {
    this.bits(value ? 1 : 0, 1)
  }

  bytes(bytes: Uint8Array): void {
    for (const byte of bytes) this.bits(byte, 8)
  }

  /** A whole number from 0 to 2^53 - 1, most significant digit first, no leading zero digits. */
  number(value: number): void {
    this.#digits(value, 0)
  }

  finish(): Bytes {
    const free = (8 - this.#pendingBits) % 8
    this.bits((1 << free) - 1, free)
    if (this.#length > LONGEST_BODY) throw new LayoutError("The sealed body is too long.")
    return this.#buffer.subarray(0, this.#length)
  }

  #digits(value: number, moreFollow: 0 | 1): void {
    const higher = Math.floor(value / DIGIT_BASE)
    if (higher > 0) this.#digits(higher, 1)
    this.bits(moreFollow * DIGIT_BASE + (value % DIGIT_BASE), 1 + DIGIT_BITS)
  }
}

export type { BitWriter }

/** A prefix code, made for reading. */
export interface PrefixCode {
  /** By the next 8 bits, the symbol times 16 plus the length of its code; 0 where the code is longer than 8 bits. */
  readonly starts: Uint16Array
  /**
   * The two children of a node, at `2 * node + bit`, are another node, the complement of a leaf's symbol, or 0 where
   * the code has no such branch.
   */
  readonly tree: Int16Array
}

/** Reads what `BitWriter` wrote. Every method throws `LayoutError` where the bytes end too early. */
export class BitReader {
  readonly #bytes: Uint8Array
  #next = 0
  #pending = 0
  #pendingBits = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /** A value of `width` bits, at most 24. */
  bits(width: number): number {
    this.#fill(width)
    if (this.#pendingBits < width) throw new LayoutError("The sealed body ends too early.")
    this.#pendingBits -= width
    return (this.#pending >>> this.#pendingBits) & ((1 << width) - 1)
  }

  flag(): boolean {
    return this.bits(1) === 1
  }

  /** Reads one code of a prefix code and answers its symbol. */
  symbol({ starts, tree }: PrefixCode): number {
    this.#fill(8)
    const free = this.#pendingBits - 8
    const start = free < 0 ? 0 : (starts[(this.#pending >>> free) & 0xff] ?? 0)
    if (start === 0) return this.#leaf(tree)
    this.#pendingBits -= start & 0xf
    return start >>> 4
  }

  #leaf(tree: Int16Array): number {
    let node = 0
    do node = tree[2 * node + this.bits(1)] ?? 0
    while (node > 0)
    if (node === 0) throw new LayoutError("A text has a code that no character has.")
    return ~node
  }

  bytes(length: number): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(length)
    for (let index = 0; index < length; index++) bytes[index] = this.bits(8)
    return bytes
  }

  number(): number {
    let value = 0
    for (;;) {
      const moreFollow = this.flag()
      const digit = this.bits(DIGIT_BITS)
      if (moreFollow && value === 0 && digit === 0) throw new LayoutError("A number is longer than it need be.")
      value = value * DIGIT_BASE + digit
      if (value > Number.MAX_SAFE_INTEGER) throw new LayoutError("A number is beyond 2^53.")
      if (!moreFollow) return value
    }
  }

  /** Makes as many bits ready as asked for, if there are so many. */
  #fill(width: number): void {
    while (this.#pendingBits < width && this.#next < this.#bytes.length) {
      this.#pending = (this.#pending << 8) | (this.#bytes[this.#next++] ?? 0)
      this.#pendingBits += 8
    }
  }

  /** Only the ones that fill the last byte may be left. */
  finish(): void {
    const fill = (1 << this.#pendingBits) - 1
    const clean = this.#next === this.#bytes.length && this.#pendingBits < 8 && (this.#pending & fill) === fill
    if (!clean) throw new LayoutError("The sealed body does not end where it should.")
  }
}
