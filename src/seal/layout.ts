import type { Token } from "../brands.ts"
import { base64UrlToBytes, bytesToBase64Url } from "./base64url.ts"
import { type Bytes, numberAt, putNumber } from "./bytes.ts"
import { HINTS_BYTES } from "./hints.ts"
import { TOKEN_LIMIT_CHARACTERS } from "./limits.ts"
import { createScratch, ownMemory } from "./scratch.ts"
import { SUITES, type Suite, TAG_BYTES } from "./suites.ts"

const KEY_ID_AT = 1
const KEY_ID_BYTES = 4
const NONCE_AT = KEY_ID_AT + KEY_ID_BYTES
const EXPIRY_BYTES = 6
/** Any token fits. */
const scratch = createScratch((TOKEN_LIMIT_CHARACTERS * 3) / 4)

/** What every sealed thing begins with: version 1 | key id 4 | nonce 12 or 24. */
export interface Start {
  /** Named by the version byte; the key id must agree. */
  readonly suite: Suite
  readonly keyId: number
  readonly nonce: Bytes
}

/** The part of a token that anyone can read: start | expiry 6 | hints 6. All of it is authenticated. */
export interface Header extends Start {
  readonly expiresAt: number
  readonly hints: Uint8Array
}

/** A sealed thing taken apart: nothing of it is proven yet. */
export interface Parsed<Fields> {
  readonly fields: Fields
  readonly header: Bytes
  readonly ciphertext: Bytes
}

export function writeStart({ suite, keyId, nonce }: Start, length = startBytes(suite)): Bytes {
  const header = new Uint8Array(length)
  header[0] = suite.number
  putNumber(header, KEY_ID_AT, KEY_ID_BYTES, keyId)
  header.set(nonce, NONCE_AT)
  return header
}

export function parseStart(bytes: Bytes): Parsed<Start> | undefined {
  const suite = suiteOf(bytes[0])
  if (!suite || bytes.length < startBytes(suite)) return undefined
  const nonce = bytes.subarray(NONCE_AT, startBytes(suite))
  const keyId = numberAt(bytes, KEY_ID_AT, KEY_ID_BYTES)
  return { fields: { suite, keyId, nonce }, ...split(bytes, startBytes(suite)) }
}

export function writeHeader(fields: Header): Bytes {
  const expiryAt = startBytes(fields.suite)
  const header = writeStart(fields, headerBytes(fields.suite))
  putNumber(header, expiryAt, EXPIRY_BYTES, fields.expiresAt)
  header.set(fields.hints, expiryAt + EXPIRY_BYTES)
  return header
}

/** Refuses what is no text, too long (before decoding it), not strict base64url, of an unknown version or too short. */
export function parseToken(token: string): Parsed<Header> | undefined {
  if (typeof token !== "string" || token.length > TOKEN_LIMIT_CHARACTERS) return undefined
  const bytes = base64UrlToBytes(token)
  const start = bytes && parseStart(bytes)
  if (!start || bytes.length <= headerBytes(start.fields.suite) + TAG_BYTES) return undefined

  const { header, ciphertext } = split(bytes, headerBytes(start.fields.suite))
  const expiryAt = startBytes(start.fields.suite)
  const expiresAt = numberAt(header, expiryAt, EXPIRY_BYTES)
  const hints = header.subarray(expiryAt + EXPIRY_BYTES)
  return { fields: { ...start.fields, expiresAt, hints }, header, ciphertext }
}

export function writeToken(header: Bytes, ciphertext: Uint8Array): Token {
  return bytesToBase64Url(concat(header, ciphertext, scratch)) as Token
}

export function concat(header: Bytes, ciphertext: Uint8Array, memory = ownMemory): Bytes {
  const bytes = memory(header.length + ciphertext.length)
  bytes.set(header)
  bytes.set(ciphertext, header.length)
  return bytes
}

function startBytes(suite: Suite): number {
  return NONCE_AT + suite.nonceBytes
}

function headerBytes(suite: Suite): number {
  return startBytes(suite) + EXPIRY_BYTES + HINTS_BYTES
}

function split(bytes: Bytes, at: number): { header: Bytes; ciphertext: Bytes } {
  return { header: bytes.subarray(0, at), ciphertext: bytes.subarray(at) }
}

function suiteOf(version: number | undefined): Suite | undefined {
  return version === 1 || version === 2 ? SUITES[version] : undefined
}
