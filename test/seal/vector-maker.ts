import { z } from "zod"
import type { Json, OperationId, Principal, TenantId } from "../../src/brands.ts"
import { associatedData } from "../../src/seal/binding.ts"
import { putNumber } from "../../src/seal/bytes.ts"
import {
  type Binding,
  canonicalJson,
  createResultBox,
  createSealer,
  type Draft,
  digestArguments,
  parseKeyRing,
} from "../../src/seal/index.ts"
import { concat, parseToken } from "../../src/seal/layout.ts"
import { requireSealingKey } from "../../src/seal/ring.ts"
import { deriveSubkey } from "../../src/seal/subkeys.ts"
import { bytesOf, hexOf, textOf } from "./independent.ts"

const json = z.custom<Json>((value) => value !== undefined)
const operation = z.custom<OperationId>((value) => typeof value === "string")

export const Bound = z.strictObject({
  purpose: z.enum(["mcp", "api", "session"]),
  tenant: z.string(),
  audience: z.string().exactOptional(),
  principal: z.string(),
  method: z.string(),
  target: z.string(),
  argumentsDigest: z.string().exactOptional(),
})

const Contents = z.strictObject({
  operation,
  round: z.number(),
  roundLimit: z.number().exactOptional(),
  home: z.strictObject({ region: z.number(), shard: z.number() }),
  asked: z.string().exactOptional(),
  state: json,
  issuedAt: z.string(),
  expiresAt: z.string(),
  deadline: z.string(),
})

/** `docs/vectors.json` as it is written. */
export const Vectors = z.strictObject({
  about: z.string(),
  keys: z.array(z.strictObject({ key: z.string(), suite: z.number(), sealsFrom: z.string() })),
  arguments: z.array(z.strictObject({ arguments: z.string(), canonical: z.string(), digest: z.string() })),
  valid: z.array(
    z.strictObject({
      name: z.string(),
      at: z.string(),
      bound: Bound,
      nonce: z.string(),
      contents: Contents,
      keyId: z.string(),
      associatedData: z.string(),
      body: z.string(),
      token: z.string(),
    }),
  ),
  invalid: z.array(
    z.strictObject({
      name: z.string(),
      at: z.string(),
      bound: Bound,
      /** What an authentic token has inside, in place of a body that follows the rules. */
      body: z.string().exactOptional(),
      token: z.string(),
      reason: z.string(),
    }),
  ),
  results: z.array(
    z.strictObject({
      name: z.string(),
      at: z.string(),
      tenant: z.string(),
      operation,
      nonce: z.string(),
      result: json,
      box: z.string(),
    }),
  ),
})

export type Vectors = z.infer<typeof Vectors>
type Valid = Vectors["valid"][number]
type Invalid = Vectors["invalid"][number]

const DAY = 86_400_000

/**
 * What becomes of the first valid token of a suite, by the name of the invalid vector. One that is not listed has that
 * very token: it is invalid for its time or for what it is opened for.
 */
const ALTERATIONS: Readonly<Record<string, (token: string) => string>> = {
  empty: () => "",
  padded: (token) => `${token}=`,
  "line end behind it": (token) => `${token}\n`,
  "tail bits": (token) => withTailBits(token.slice(0, -1)),
  "standard alphabet": (token) => token.replaceAll("-", "+").replaceAll("_", "/"),
  "unknown version": (token) => altered(token, (bytes) => bytes.fill(3, 0, 1)),
  "header without a body": (token) => textOf(bytesOf(token).subarray(0, headerLength(token) + 16)),
  "the other suite's version": (token) => altered(token, (bytes) => bytes.fill(3 - (bytes[0] ?? 0), 0, 1)),
  "another key id": (token) => altered(token, flip(4)),
  "an expiry two days back": (token) => withExpiry(token, (expiry) => expiry - 2 * DAY),
  "an expiry in the year 10889": (token) => withExpiry(token, () => 2 ** 48 - 1),
  "an expiry one millisecond later": (token) => withExpiry(token, (expiry) => expiry + 1),
  "a bit of the nonce": (token) => altered(token, flip(5)),
  "a bit of the body": (token) => altered(token, flip(headerLength(token), 0x80)),
  "a bit of the tag": (token) => altered(token, flip(bytesOf(token).length - 1)),
  "a byte fewer": (token) => textOf(bytesOf(token).subarray(0, -1)),
  "a byte more": (token) => textOf([...bytesOf(token), 0]),
}

/**
 * Remakes every output of the published vectors from their inputs: names, times, keys, nonces, what is bound, what is
 * sealed, and the reason for which an invalid one is refused.
 */
export async function remake(vectors: Vectors): Promise<Vectors> {
  const ring = ringOf(vectors)
  const valid = await Promise.all(vectors.valid.map((vector) => remakeValid(vector, ring)))
  return {
    ...vectors,
    arguments: await Promise.all(vectors.arguments.map(remakeArguments)),
    valid,
    invalid: await Promise.all(vectors.invalid.map((vector) => remakeInvalid(vector, baseOf(vector, valid), ring))),
    results: await Promise.all(
      vectors.results.map(async (vector) => {
        const boxes = createResultBox({ ring, now: () => Date.parse(vector.at), random: () => fromHex(vector.nonce) })
        const binding = { tenant: vector.tenant as TenantId, operation: vector.operation }
        return { ...vector, box: textOf(await boxes.seal(binding, vector.result)) }
      }),
    ),
  }
}

type Ring = ReturnType<typeof ringOf>

function ringOf({ keys }: Vectors) {
  const parsed = parseKeyRing(JSON.stringify(keys))
  if (!parsed.ok) throw new Error(parsed.problem)
  return parsed.ring
}

async function remakeArguments(vector: Vectors["arguments"][number]): Promise<Vectors["arguments"][number]> {
  const canonical = canonicalJson(JSON.parse(vector.arguments))
  const digested = await digestArguments(JSON.parse(vector.arguments))
  if (!canonical.ok || !digested.ok) throw new Error("The arguments of a vector cannot be bound.")
  return { ...vector, canonical: canonical.text, digest: textOf(digested.digest) }
}

async function remakeValid(vector: Valid, ring: Ring): Promise<Valid> {
  const { bound, contents } = vector
  const at = Date.parse(vector.at)
  const nonce = fromHex(vector.nonce)
  const sealer = createSealer({ purpose: bound.purpose, ring, now: () => at, random: () => nonce })
  const { operation, asked, issuedAt, expiresAt, deadline, ...rest } = contents
  const begins = operation === textOf(nonce.subarray(0, 12))
  const draft: Draft = {
    ...rest,
    ...(!begins && { operation }),
    ...(asked !== undefined && { asked: bytesOf(asked) }),
    issuedAt: Date.parse(issuedAt),
    expiresAt: Date.parse(expiresAt),
    deadline: Date.parse(deadline),
  }
  const { token } = await sealer.seal(bindingOf(bound), draft)
  const opened = await unsealed(token, bound, at, ring)
  return { ...vector, keyId: requireSealingKey(ring, at).name, ...opened, token }
}

async function remakeInvalid(vector: Invalid, base: Valid, ring: Ring): Promise<Invalid> {
  if (vector.body !== undefined) {
    return { ...vector, token: await sealedBody(fromHex(vector.body), base, ring) }
  }
  const alter = ALTERATIONS[nameWithoutSuite(vector)]
  return { ...vector, token: alter ? alter(base.token) : base.token }
}

/** The bytes on the way to a token. */
async function unsealed(token: string, bound: Valid["bound"], at: number, ring: Ring) {
  const { cipher, nonce, associated, ciphertext } = await partsOf(token, bound, at, ring)
  const body = await cipher.decrypt(nonce, associated, ciphertext)
  if (!body) throw new Error("A token that was just sealed does not open.")
  return { associatedData: hexOf(associated), body: hexOf(body) }
}

/** A token with the header of the base and another body, authentic all the same. */
async function sealedBody(body: Uint8Array<ArrayBuffer>, base: Valid, ring: Ring): Promise<string> {
  const { cipher, nonce, associated, header } = await partsOf(base.token, base.bound, Date.parse(base.at), ring)
  return textOf(concat(header, new Uint8Array(await cipher.encrypt(nonce, associated, body))))
}

async function partsOf(token: string, bound: Valid["bound"], at: number, ring: Ring) {
  const parsed = parseToken(token)
  if (!parsed) throw new Error("A token that was just sealed is malformed.")
  const { header, ciphertext, fields } = parsed
  const hour = String(Math.floor(fields.expiresAt / 3_600_000))
  const cipher = await deriveSubkey(requireSealingKey(ring, at), bound.purpose, bound.tenant, hour)
  const associated = associatedData(header, bound.purpose, bindingOf(bound)).slice()
  return { cipher, nonce: fields.nonce, associated, header, ciphertext }
}

export function bindingOf({ tenant, audience, principal, method, target, argumentsDigest }: Valid["bound"]): Binding {
  return {
    tenant: tenant as TenantId,
    ...(audience !== undefined && { audience }),
    principal: principal as Principal,
    method,
    target,
    ...(argumentsDigest !== undefined && { argumentsDigest: bytesOf(argumentsDigest) }),
  }
}

/** The first valid vector of the same suite; names begin with it. */
function baseOf({ name }: Invalid, valid: readonly Valid[]): Valid {
  const base = valid.find((vector) => vector.name.slice(0, 7) === name.slice(0, 7))
  if (!base) throw new Error(`There is no valid vector of the suite of "${name}".`)
  return base
}

function nameWithoutSuite({ name }: Invalid): string {
  return name.slice("suite 1: ".length)
}

function headerLength(token: string): number {
  return bytesOf(token)[0] === 1 ? 29 : 41
}

function altered(token: string, alter: (bytes: Uint8Array<ArrayBuffer>) => unknown): string {
  const bytes = bytesOf(token)
  alter(bytes)
  return textOf(bytes)
}

function flip(at: number, bit = 1): (bytes: Uint8Array) => void {
  return (bytes) => {
    bytes[at] = (bytes[at] ?? 0) ^ bit
  }
}

function withExpiry(token: string, alter: (expiry: number) => number): string {
  const at = headerLength(token) - 12
  return altered(token, (bytes) => {
    const expiry = Number.parseInt(hexOf(bytes.subarray(at, at + 6)), 16)
    putNumber(bytes, at, 6, alter(expiry))
  })
}

/** The last character of these many holds two bits that belong to no byte; one of them is set. */
function withTailBits(token: string): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
  return token.slice(0, -1) + alphabet[alphabet.indexOf(token.slice(-1)) | 1]
}

function fromHex(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16))
}
