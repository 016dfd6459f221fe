import type { Bytes } from "./suites.ts"

/** Most strings of a token are ASCII and this short: for them a loop takes a fraction of the encoder's time. */
const SHORT = 128

const encoder = new TextEncoder()
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** The bytes of a well-formed string. */
export function toUtf8(text: string): Bytes {
  return (text.length <= SHORT && toAscii(text)) || new Uint8Array(encoder.encode(text))
}

/** How many bytes `toUtf8` would give. */
export function utf8Length(text: string): number {
  let length = text.length
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    // A surrogate pair is two units and four bytes; any other unit is one to three bytes.
    if (unit > 0x7f) length += unit > 0x7ff && (unit & 0xf800) !== 0xd800 ? 2 : 1
  }
  return length
}

/** Exactly the string that these bytes encode (a byte order mark stays), or `undefined` for what is not UTF-8. */
export function fromUtf8(bytes: Uint8Array): string | undefined {
  return (bytes.length <= SHORT && fromAscii(bytes)) || decode(bytes)
}

function toAscii(text: string): Bytes | undefined {
  const bytes = new Uint8Array(text.length)
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit > 0x7f) return undefined
    bytes[index] = unit
  }
  return bytes
}

function fromAscii(bytes: Uint8Array): string | undefined {
  let text = ""
  for (const byte of bytes) {
    if (byte > 0x7f) return undefined
    text += String.fromCharCode(byte)
  }
  return text
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}
