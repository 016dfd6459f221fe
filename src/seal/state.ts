import type { Json } from "../brands.ts"
import { type BitReader, type BitWriter, LayoutError } from "./bits.ts"
import { huffmanBits, readHuffman, writeHuffman } from "./huffman.ts"
import { JSON_DEPTH, STATE_LIMIT_BYTES } from "./limits.ts"
import { fromUtf8, toUtf8 } from "./utf8.ts"

/** The first three bits of every value. */
const NULL = 0
const FALSE = 1
const TRUE = 2
const INTEGER = 3
const DOUBLE = 4
const TEXT = 5
const ARRAY = 6
const OBJECT = 7
const KIND_BITS = 3

/** Writes a state that `stateProblem` found nothing wrong with. */
export function writeState(to: BitWriter, state: Json): void {
  if (state === null) to.bits(NULL, KIND_BITS)
  else if (typeof state === "boolean") to.bits(state ? TRUE : FALSE, KIND_BITS)
  else if (typeof state === "number") writeNumber(to, state)
  else if (typeof state === "string") {
    to.bits(TEXT, KIND_BITS)
    writeText(to, state)
  } else if (isArray(state)) writeArray(to, state)
  else writeObject(to, state)
}

/** Reads one state; throws `LayoutError` for anything that `writeState` would not have written so. */
export function readState(from: BitReader, depth = 0): Json {
  const kind = from.bits(KIND_BITS)
  switch (kind) {
    case NULL:
      return null
    case FALSE:
    case TRUE:
      return kind === TRUE
    case INTEGER:
      return readInteger(from)
    case DOUBLE:
      return readDouble(from)
    case TEXT:
      return readText(from)
  }
  if (depth === JSON_DEPTH) throw new LayoutError(`The state is nested deeper than ${JSON_DEPTH} levels.`)
  return kind === ARRAY ? readArray(from, depth + 1) : readObject(from, depth + 1)
}

/** The type predicate of `Array.isArray` does not know readonly arrays. */
function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}

function writeNumber(to: BitWriter, value: number): void {
  if (Number.isSafeInteger(value)) {
    to.bits(INTEGER, KIND_BITS)
    to.flag(value < 0)
    to.number(Math.abs(value))
    return
  }
  to.bits(DOUBLE, KIND_BITS)
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setFloat64(0, value)
  to.bytes(bytes)
}

function readInteger(from: BitReader): number {
  const negative = from.flag()
  const magnitude = from.number()
  if (negative && magnitude === 0) throw new LayoutError("Zero has no sign.")
  return negative ? -magnitude : magnitude
}

function readDouble(from: BitReader): number {
  const value = new DataView(from.bytes(8).buffer).getFloat64(0)
  if (!Number.isFinite(value) || Number.isSafeInteger(value)) throw new LayoutError("A number has the wrong kind.")
  return value
}

/** Whichever is shorter: the Huffman code or the bare UTF-8. */
function writeText(to: BitWriter, text: string): void {
  const bare = huffmanBits(text) >= 8 * text.length
  to.flag(bare)
  if (bare) writeBareText(to, text)
  else {
    to.number(text.length)
    writeHuffman(to, text)
  }
}

function writeBareText(to: BitWriter, text: string): void {
  const bytes = toUtf8(text)
  to.number(bytes.length)
  to.bytes(bytes)
}

function readText(from: BitReader): string {
  const bare = from.flag()
  const length = from.number()
  if (length > STATE_LIMIT_BYTES) throw new LayoutError("A text is longer than any state.")
  return bare ? readBareText(from, length) : readHuffman(from, length)
}

function readBareText(from: BitReader, length: number): string {
  const text = fromUtf8(from.bytes(length))
  if (text === undefined) throw new LayoutError("A text is not UTF-8.")
  return text
}

function writeArray(to: BitWriter, elements: readonly Json[]): void {
  to.bits(ARRAY, KIND_BITS)
  to.number(elements.length)
  for (const element of elements) writeState(to, element)
}

function writeObject(to: BitWriter, object: { readonly [member: string]: Json }): void {
  const members = Object.entries(object)
  to.bits(OBJECT, KIND_BITS)
  to.number(members.length)
  for (const [name, member] of members) {
    writeText(to, name)
    writeState(to, member)
  }
}

function readArray(from: BitReader, depth: number): Json {
  const elements: Json[] = []
  for (let left = from.number(); left > 0; left--) elements.push(readState(from, depth))
  return elements
}

function readObject(from: BitReader, depth: number): Json {
  const object: Record<string, Json> = {}
  for (let left = from.number(); left > 0; left--) {
    const name = readText(from)
    if (Object.hasOwn(object, name)) throw new LayoutError("A member occurs twice.")
    putMember(object, name, readState(from, depth))
  }
  return object
}

/** An own member, also of a name that every object inherits: assigning `__proto__` would make none. */
function putMember(object: Record<string, Json>, name: string, value: Json): void {
  if (name in object)
    Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
  else object[name] = value
}
