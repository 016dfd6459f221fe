import { xchacha20poly1305 } from "@noble/ciphers/chacha.js"

/**
 * A decoder written from docs/token-format.md alone. It shares no code with what it checks and is as plain as the page:
 * the body is a string of the characters 0 and 1, 64-bit words are bigints. It knows no limits, caches and reasons.
 */

export interface Bound {
  purpose: string
  tenant: string
  audience?: string
  principal: string
  method: string
  target: string
  argumentsDigest?: string
}

/** Base64url in the published vectors stands for bytes. */
export function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64url.replaceAll("-", "+").replaceAll("_", "/")), (character) =>
    character.charCodeAt(0),
  )
}

export function textOf(bytes: Iterable<number>): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "")
}

export function hexOf(bytes: Iterable<number>): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")
}

/** Answers what the token says, with the bytes on the way to it; throws when it is not authentic. */
export async function decodeToken(keys: { key: string; suite: number }[], bound: Bound, token: string) {
  const bytes = bytesOf(token)
  const suite = bytes[0] ?? 0
  const nonceEnd = 5 + (suite === 1 ? 12 : 24)
  const header = bytes.slice(0, nonceEnd + 12)
  const nonce = bytes.slice(5, nonceEnd)
  const expiresAt = Number.parseInt(hexOf(bytes.slice(nonceEnd, nonceEnd + 6)), 16)
  const ciphertext = bytes.slice(nonceEnd + 12)

  const key = await keyNamed(keys, suite, hexOf(bytes.slice(1, 5)))
  const hour = `${Math.floor(expiresAt / 3_600_000)}`
  const subkey = await hkdf(key.secret, list("waxseal subkey v1", `${suite}`, bound.purpose, bound.tenant, hour), 32)
  const associatedData = list(
    "waxseal token v1",
    header,
    bound.purpose,
    bound.tenant,
    bound.audience,
    bound.principal,
    bound.method,
    bound.target,
    bound.argumentsDigest === undefined ? undefined : bytesOf(bound.argumentsDigest),
  )
  const body = await decrypt(suite, subkey, nonce, associatedData, ciphertext)
  return {
    keyId: key.id,
    hints: hintsOf(key.hintKey, nonce, bound),
    carriedHints: hexOf(header.slice(-6)),
    associatedData: hexOf(associatedData),
    body: hexOf(body),
    contents: contentsOf(body, nonce, expiresAt),
  }
}

/** Opens a stored result. */
export async function decodeResult(
  keys: { key: string; suite: number }[],
  tenant: string,
  operation: string,
  box: string,
) {
  const bytes = bytesOf(box)
  const suite = bytes[0] ?? 0
  const nonceEnd = 5 + (suite === 1 ? 12 : 24)
  const header = bytes.slice(0, nonceEnd)
  const key = await keyNamed(keys, suite, hexOf(bytes.slice(1, 5)))
  const subkey = await hkdf(key.secret, list("waxseal subkey v1", `${suite}`, "result", tenant, operation), 32)
  const associatedData = list("waxseal result v1", header, "result", tenant, operation)
  const body = await decrypt(suite, subkey, header.slice(5), associatedData, bytes.slice(nonceEnd))
  return JSON.parse(new TextDecoder().decode(body))
}

async function keyNamed(keys: { key: string; suite: number }[], suite: number, id: string) {
  for (const entry of keys) {
    const secret = bytesOf(entry.key)
    const derived = await hkdf(secret, list("waxseal key v1", `${entry.suite}`), 20)
    if (entry.suite === suite && hexOf(derived.slice(0, 4)) === id) return { id, secret, hintKey: derived.slice(4) }
  }
  throw new Error("no such key")
}

async function hkdf(secret: Uint8Array<ArrayBuffer>, info: Uint8Array<ArrayBuffer>, length: number) {
  const root = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"])
  const params = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(32), info }
  return new Uint8Array(await crypto.subtle.deriveBits(params, root, 8 * length))
}

async function decrypt(
  suite: number,
  subkey: Uint8Array<ArrayBuffer>,
  iv: Uint8Array<ArrayBuffer>,
  additionalData: Uint8Array<ArrayBuffer>,
  ciphertext: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array> {
  if (suite === 2) return xchacha20poly1305(subkey, iv, additionalData).decrypt(ciphertext)
  const key = await crypto.subtle.importKey("raw", subkey, "AES-GCM", false, ["decrypt"])
  return new Uint8Array(await crypto.subtle.decrypt({ name: "AES-GCM", iv, additionalData }, key, ciphertext))
}

function list(...parts: (string | Uint8Array | undefined)[]): Uint8Array<ArrayBuffer> {
  const encoded = parts.map((part) => (typeof part === "string" ? [...new TextEncoder().encode(part)] : part))
  return Uint8Array.from([
    ...uint32(parts.length),
    ...encoded.flatMap((part) => (part ? [...uint32(part.length), ...part] : [255, 255, 255, 255])),
  ])
}

function uint32(value: number): number[] {
  return [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255]
}

// Hints

function hintsOf(hintKey: Uint8Array, nonce: Uint8Array, bound: Bound): string {
  const utf8 = (text: string) => [...new TextEncoder().encode(text), 255]
  const digest = bound.argumentsDigest === undefined ? [] : [...bytesOf(bound.argumentsDigest), 255]
  const digests = [
    fnv(utf8(bound.principal)),
    fnv(bound.audience === undefined ? [] : utf8(bound.audience)),
    fnv([...utf8(bound.method), ...utf8(bound.target), ...digest]),
  ]
  const mask = sipHash(hintKey, nonce)
  return hexOf(digests.flatMap((folded) => [folded >> 8, folded & 255]).map((byte, index) => byte ^ (mask[index] ?? 0)))
}

function fnv(bytes: number[]): number {
  const hash = bytes.reduce((hash, byte) => BigInt.asUintN(32, (hash ^ BigInt(byte)) * 0x01000193n), 0x811c9dc5n)
  return Number((hash >> 16n) ^ (hash & 0xffffn))
}

export function sipHash(key: Uint8Array, message: Uint8Array): number[] {
  const word = (bytes: number[], at: number) =>
    bytes.slice(at, at + 8).reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n)
  const rotate = (value: bigint, by: bigint) => BigInt.asUintN(64, (value << by) | (value >> (64n - by)))
  const add = (one: bigint, other: bigint) => BigInt.asUintN(64, one + other)

  const [k0, k1] = [word([...key], 0), word([...key], 8)]
  let v0 = k0 ^ 0x736f6d6570736575n
  let v1 = k1 ^ 0x646f72616e646f6dn
  let v2 = k0 ^ 0x6c7967656e657261n
  let v3 = k1 ^ 0x7465646279746573n
  const round = () => {
    v0 = add(v0, v1)
    v1 = rotate(v1, 13n) ^ v0
    v0 = rotate(v0, 32n)
    v2 = add(v2, v3)
    v3 = rotate(v3, 16n) ^ v2
    v0 = add(v0, v3)
    v3 = rotate(v3, 21n) ^ v0
    v2 = add(v2, v1)
    v1 = rotate(v1, 17n) ^ v2
    v2 = rotate(v2, 32n)
  }

  const padding = new Array(7 - (message.length % 8)).fill(0)
  const padded = [...message, ...padding, message.length & 255]
  for (let at = 0; at < padded.length; at += 8) {
    v3 ^= word(padded, at)
    round()
    round()
    v0 ^= word(padded, at)
  }
  v2 ^= 0xffn
  for (let left = 4; left > 0; left--) round()
  const hash = v0 ^ v1 ^ v2 ^ v3
  return Array.from({ length: 8 }, (_, index) => Number((hash >> BigInt(8 * index)) & 255n))
}

// The sealed body

function contentsOf(body: Uint8Array, nonce: Uint8Array, expiresAt: number) {
  let rest = [...body].map((byte) => byte.toString(2).padStart(8, "0")).join("")
  const take = (length: number) => {
    if (rest.length < length) throw new Error("the body ends too early")
    const taken = rest.slice(0, length)
    rest = rest.slice(length)
    return taken
  }
  const bits = (length: number) => Number.parseInt(take(length), 2)
  const flag = () => take(1) === "1"
  const bytes = (length: number) => Uint8Array.from({ length }, () => bits(8))
  const number = () => {
    let digits = ""
    for (let more = true; more; ) {
      more = flag()
      digits += take(5)
    }
    return Number.parseInt(digits, 2)
  }
  const duration = () => (flag() ? number() : 1_000 * number())
  const text = () => {
    const bare = flag()
    const length = number()
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bare ? bytes(length) : huffman(length))
  }
  const huffman = (length: number) =>
    Uint8Array.from({ length }, () => {
      let code = ""
      while (!HUFFMAN.has(code)) code += take(1)
      return HUFFMAN.get(code) ?? 0
    })
  const value = (): unknown => {
    switch (bits(3)) {
      case 0:
        return null
      case 1:
        return false
      case 2:
        return true
      case 3:
        return flag() ? -number() : number()
      case 4:
        return new DataView(bytes(8).buffer).getFloat64(0)
      case 5:
        return text()
      case 6:
        return Array.from({ length: number() }, value)
      default:
        return Object.fromEntries(Array.from({ length: number() }, () => [text(), value()]))
    }
  }

  const [hasOperation, hasAsked, hasRoundLimit] = [flag(), flag(), flag()]
  const round = bits(5)
  const roundLimit = hasRoundLimit ? bits(5) : undefined
  const home = { region: number(), shard: number() }
  const issuedAt = expiresAt - duration()
  const deadline = expiresAt + duration()
  const operation = textOf(hasOperation ? bytes(12) : nonce.slice(0, 12))
  const asked = hasAsked ? textOf(bytes(8)) : undefined
  const state = value()
  if (rest.length > 7 || rest.includes("0")) throw new Error("the body goes on")
  return {
    operation,
    round,
    ...(hasRoundLimit && { roundLimit }),
    issuedAt,
    expiresAt,
    deadline,
    home,
    ...(hasAsked && { asked }),
    state,
  }
}

/** RFC 7541 appendix B: the bytes with codes of each length, in the order of their codes. */
// biome-ignore format: a table
const SYMBOLS: Record<number, number[]> = {
  5: [48, 49, 50, 97, 99, 101, 105, 111, 115, 116],
  6: [32, 37, 45, 46, 47, 51, 52, 53, 54, 55, 56, 57, 61, 65, 95, 98, 100, 102, 103, 104, 108, 109, 110, 112, 114, 117],
  7: [58, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 89, 106, 107, 113, 118, 119, 120, 121, 122],
  8: [38, 42, 44, 59, 88, 90],
  10: [33, 34, 40, 41, 63],
  11: [39, 43, 124],
  12: [35, 62],
  13: [0, 36, 64, 91, 93, 126],
  14: [94, 125],
  15: [60, 96, 123],
  19: [92, 195, 208],
  20: [128, 130, 131, 162, 184, 194, 224, 226],
  21: [153, 161, 167, 172, 176, 177, 179, 209, 216, 217, 227, 229, 230],
  22: [129, 132, 133, 134, 136, 146, 154, 156, 160, 163, 164, 169, 170, 173, 178, 181, 185, 186, 187, 189, 190, 196, 198, 228, 232, 233],
  23: [1, 135, 137, 138, 139, 140, 141, 143, 147, 149, 150, 151, 152, 155, 157, 158, 165, 166, 168, 174, 175, 180, 182, 183, 188, 191, 197, 231, 239],
  24: [9, 142, 144, 145, 148, 159, 171, 206, 215, 225, 236, 237],
  25: [199, 207, 234, 235],
  26: [192, 193, 200, 201, 202, 205, 210, 213, 218, 219, 238, 240, 242, 243, 255],
  27: [203, 204, 211, 212, 214, 221, 222, 223, 241, 244, 245, 246, 247, 248, 250, 251, 252, 253, 254],
  28: [2, 3, 4, 5, 6, 7, 8, 11, 12, 14, 15, 16, 17, 18, 19, 20, 21, 23, 24, 25, 26, 27, 28, 29, 30, 31, 127, 220, 249],
  30: [10, 13, 22],
}
const HUFFMAN = huffmanCodes()

function huffmanCodes(): Map<string, number> {
  const codes = new Map<string, number>()
  let next = 0
  let before = 0
  for (const [length, symbols] of Object.entries(SYMBOLS)) {
    next *= 2 ** (Number(length) - before)
    before = Number(length)
    for (const symbol of symbols) codes.set((next++).toString(2).padStart(before, "0"), symbol)
  }
  return codes
}
