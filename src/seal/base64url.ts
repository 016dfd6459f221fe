const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
/** More than any digit, and so is whatever it is or-ed with. */
const NOT_A_DIGIT = 64

const CODES = Uint8Array.from(ALPHABET, (character) => character.charCodeAt(0))
const DIGITS = new Uint8Array(128).fill(NOT_A_DIGIT)
for (const [digit, code] of CODES.entries()) DIGITS[code] = digit

/**
 * Base64url without padding (RFC 4648 section 5). The engine is several times as fast, where it can and has enough to do.
 *
 * @example
 * bytesToBase64Url(new Uint8Array([255, 254])) // "__4"
 */
export function bytesToBase64Url(bytes: Uint8Array): string {
  return bytes.length > SHORT_BYTES && encodesItself(bytes) ? bytes.toBase64(UNPADDED) : encode(bytes)
}

/** Ids of operations: for them asking the engine costs more than encoding. */
const SHORT_BYTES = 24
const UNPADDED = { alphabet: "base64url", omitPadding: true }

/** ES2026 gives byte arrays the method; Node has it since version 25. */
function encodesItself(
  bytes: object,
): bytes is { toBase64(options: { alphabet: string; omitPadding: boolean }): string } {
  return "toBase64" in bytes && typeof bytes.toBase64 === "function"
}

/**
 * Decodes base64url, or answers `undefined`. Every byte string has exactly one spelling that decodes: no padding, no
 * white space, no character of another alphabet, no tail bits but zeros (RFC 4648 section 3.5).
 *
 * @example
 * base64UrlToBytes("__4") // Uint8Array [255, 254]
 * base64UrlToBytes("__5") // undefined: another spelling of the same bytes
 */
export function base64UrlToBytes(text: string): Uint8Array<ArrayBuffer> | undefined {
  const rest = text.length % 4
  if (rest === 1) return undefined
  const bytes = new Uint8Array(Math.floor((text.length * 6) / 8))
  const whole = text.length - rest
  let all = 0
  let at = 0
  for (let index = 0; index < whole; index += 4) {
    const first = digitAt(text, index)
    const second = digitAt(text, index + 1)
    const third = digitAt(text, index + 2)
    const fourth = digitAt(text, index + 3)
    all |= first | second | third | fourth
    bytes[at] = (first << 2) | (second >>> 4)
    bytes[at + 1] = (second << 4) | (third >>> 2)
    bytes[at + 2] = (third << 6) | fourth
    at += 3
  }
  if (all >= NOT_A_DIGIT) return undefined
  return rest === 0 || putLast(bytes, at, text.slice(whole)) ? bytes : undefined
}

/** Decodes two or three digits as if zeros came behind; then what they encode beyond the last byte must be zero. */
function putLast(bytes: Uint8Array, at: number, digits: string): boolean {
  const group = base64UrlToBytes(digits.padEnd(4, "A"))
  if (!group) return false
  const count = bytes.length - at
  bytes.set(group.subarray(0, count), at)
  return group.subarray(count).every((byte) => byte === 0)
}

function digitAt(text: string, index: number): number {
  return DIGITS[text.charCodeAt(index)] ?? NOT_A_DIGIT
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
