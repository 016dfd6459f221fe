import type { Bytes } from "./bytes.ts"

const encoder = new TextEncoder()
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** How many bytes a well-formed string has. */
export function utf8Length(text: string): number {
  let length = text.length
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    // A surrogate pair is two units and four bytes; any other unit is one to three bytes.
    if (unit > 0x7f) length += unit > 0x7ff && (unit & 0xf800) !== 0xd800 ? 2 : 1
  }
  return length
}

/**
 * Writes a string and answers how many bytes it took. Most strings here are short and ASCII: for them a loop beats the
 * encoder.
 *
 * @throws TypeError for a string with a lone surrogate: it has no UTF-8 form, and a replacement would meet another string
 */
export function putUtf8(bytes: Uint8Array, at: number, text: string): number {
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit > 0x7f) {
      if (!text.isWellFormed())
        throw new TypeError("A string with a lone surrogate cannot be encoded; refuse it earlier.")
      return index + encoder.encodeInto(text.slice(index), bytes.subarray(at + index)).written
    }
    bytes[at + index] = unit
  }
  return text.length
}

export function toUtf8(text: string): Bytes {
  const bytes = new Uint8Array(utf8Length(text))
  putUtf8(bytes, 0, text)
  return bytes
}

/** Exactly the string that these bytes encode (a byte order mark stays), or `undefined` for what is not UTF-8. */
export function fromUtf8(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}
