const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
const NOT_A_DIGIT = 0xff

const CODES = Uint8Array.from(ALPHABET, (character) => character.charCodeAt(0))
const DIGITS = new Uint8Array(128).fill(NOT_A_DIGIT)
for (const [digit, code] of CODES.entries()) DIGITS[code] = digit

/** Base64url without padding (RFC 4648 section 5). The engine is several times as fast, where it can. */
export function bytesToBase64Url(bytes: Uint8Array): string {
  return encodesItself(bytes) ? bytes.toBase64({ alphabet: "base64url", omitPadding: true }) : encode(bytes)
}

/** ES2026 gives byte arrays the method; Node has it since version 25. */
function encodesItself(
  bytes: object,
): bytes is { toBase64(options: { alphabet: string; omitPadding: boolean }): string } {
  return "toBase64" in bytes && typeof bytes.toBase64 === "function"
}

/**
 * Decodes base64url, or answers `undefined`. Every byte string has exactly one spelling that decodes: no padding, no
 * white space, no character of another alphabet, no tail bits but zeros (RFC 4648 section 3.5).
 */
export function base64UrlToBytes(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 4 === 1) return undefined
  const bytes = new Uint8Array(Math.floor((text.length * 6) / 8))
  let pending = 0
  let bits = 0
  let at = 0
  for (let index = 0; index < text.length; index++) {
    const digit = DIGITS[text.charCodeAt(index)] ?? NOT_A_DIGIT
    if (digit === NOT_A_DIGIT) return undefined
    pending = ((pending << 6) | digit) & 0xffff
    bits += 6
    if (bits >= 8) {
      bits -= 8
      bytes[at++] = pending >>> bits
    }
  }
  const tail = pending & ((1 << bits) - 1)
  return tail === 0 ? bytes : undefined
}

function encode(bytes: Uint8Array): string {
  let text = ""
  for (let at = 0; at < bytes.length; at += 3) {
    const group = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0)
    text += String.fromCharCode(codeOf(group >>> 18), codeOf(group >>> 12), codeOf(group >>> 6), codeOf(group))
  }
  return text.slice(0, Math.ceil((bytes.length * 8) / 6))
}

/** The character code of the digit in the low six bits. */
function codeOf(bits: number): number {
  return CODES[bits & 63] ?? 0
}
