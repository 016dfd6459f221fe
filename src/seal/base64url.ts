const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
const NOT_A_DIGIT = 0xff

const DIGITS = new Uint8Array(128).fill(NOT_A_DIGIT)
for (let digit = 0; digit < 64; digit++) DIGITS[ALPHABET.charCodeAt(digit)] = digit

/** Base64url without padding (RFC 4648 section 5). */
export function bytesToBase64Url(bytes: Uint8Array): string {
  let text = ""
  let pending = 0
  let bits = 0
  for (const byte of bytes) {
    pending = ((pending << 8) | byte) & 0xffff
    for (bits += 8; bits >= 6; ) {
      bits -= 6
      text += ALPHABET[(pending >>> bits) & 63]
    }
  }
  return bits === 0 ? text : text + ALPHABET[(pending << (6 - bits)) & 63]
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
