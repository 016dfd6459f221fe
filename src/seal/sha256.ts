import { putUtf8 } from "./utf8.ts"

const BLOCK_BYTES = 64
const DIGEST_BYTES = 32
/** The end of the message in its last block: one bit, then its length in bits as a number of 64. */
const PADDING_BYTES = 9
/** In UTF-16 units: longer texts WebCrypto hashes faster, for all that a call of it costs. */
const SHORT = 512

const utf8 = new TextEncoder()
/** A unit of UTF-16 is three bytes of UTF-8 at most. */
const LONGEST = Math.ceil((3 * SHORT + PADDING_BYTES) / BLOCK_BYTES) * BLOCK_BYTES

/** FIPS 180-4 section 4.2.2 and 5.3.3: the first bits of the fractions of roots of the first primes. */
const CONSTANTS = Int32Array.from(firstPrimes(64), (prime) => fraction(Math.cbrt(prime)))
const INITIAL = Int32Array.from(firstPrimes(8), (prime) => fraction(Math.sqrt(prime)))

/** Hashing is synchronous, so one message and one set of words serve every text in turn. */
const MESSAGE = new Uint8Array(LONGEST)
const SCHEDULE = new Int32Array(64)
const HASH = new Int32Array(8)

/**
 * SHA-256 (FIPS 180-4) of a well-formed text's UTF-8. A call of WebCrypto costs more than hashing what most requests
 * send as arguments, so short texts are hashed here, at once. What is hashed is no secret: nothing depends on constant
 * time.
 */
export function sha256(text: string): Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>> {
  return text.length <= SHORT ? hash(text) : digest(text)
}

async function digest(text: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", utf8.encode(text)))
}

function hash(text: string): Uint8Array<ArrayBuffer> {
  const length = putUtf8(MESSAGE, 0, text)
  const end = Math.ceil((length + PADDING_BYTES) / BLOCK_BYTES) * BLOCK_BYTES
  MESSAGE.fill(0, length, end)
  MESSAGE[length] = 0x80
  HASH.set(INITIAL)
  for (let at = 0; at < end; at += BLOCK_BYTES) {
    for (let t = 0; t < 16; t++) SCHEDULE[t] = wordAt(at + 4 * t)
    if (at + BLOCK_BYTES === end) SCHEDULE[15] = length * 8
    compress()
  }
  const digest = new Uint8Array(DIGEST_BYTES)
  for (let index = 0; index < DIGEST_BYTES; index++) digest[index] = word(index >> 2) >>> (24 - 8 * (index & 3))
  return digest
}

/** Section 6.2.2, with the names of the standard. */
function compress(): void {
  for (let t = 16; t < 64; t++) {
    const early = SCHEDULE[t - 15] ?? 0
    const late = SCHEDULE[t - 2] ?? 0
    const sigma0 = ((early >>> 7) | (early << 25)) ^ ((early >>> 18) | (early << 14)) ^ (early >>> 3)
    const sigma1 = ((late >>> 17) | (late << 15)) ^ ((late >>> 19) | (late << 13)) ^ (late >>> 10)
    SCHEDULE[t] = (SCHEDULE[t - 16] ?? 0) + sigma0 + (SCHEDULE[t - 7] ?? 0) + sigma1
  }
  let a = word(0)
  let b = word(1)
  let c = word(2)
  let d = word(3)
  let e = word(4)
  let f = word(5)
  let g = word(6)
  let h = word(7)
  for (let t = 0; t < 64; t++) {
    const sum1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7))
    const choice = (e & f) ^ (~e & g)
    const temporary1 = (h + sum1 + choice + (CONSTANTS[t] ?? 0) + (SCHEDULE[t] ?? 0)) | 0
    const sum0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))
    const majority = (a & b) ^ (a & c) ^ (b & c)
    h = g
    g = f
    f = e
    e = (d + temporary1) | 0
    d = c
    c = b
    b = a
    a = (temporary1 + sum0 + majority) | 0
  }
  HASH[0] = word(0) + a
  HASH[1] = word(1) + b
  HASH[2] = word(2) + c
  HASH[3] = word(3) + d
  HASH[4] = word(4) + e
  HASH[5] = word(5) + f
  HASH[6] = word(6) + g
  HASH[7] = word(7) + h
}

function word(index: number): number {
  return HASH[index] ?? 0
}

/** 32 bits of the padded message, the highest byte first. */
function wordAt(at: number): number {
  return (byteAt(at) << 24) | (byteAt(at + 1) << 16) | (byteAt(at + 2) << 8) | byteAt(at + 3)
}

function byteAt(at: number): number {
  return MESSAGE[at] ?? 0
}

function fraction(root: number): number {
  return (root % 1) * 2 ** 32
}

function firstPrimes(count: number): number[] {
  const primes: number[] = []
  for (let candidate = 2; primes.length < count; candidate++) {
    if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate)
  }
  return primes
}
