import { describe, expect, it } from "vitest"
import { z } from "zod"
import text from "../../docs/vectors.json?raw"
import type { Json, OperationId, TenantId } from "../../src/brands.ts"
import {
  bytesToBase64Url,
  canonicalJson,
  createResultBox,
  createSealer,
  digestArguments,
  parseKeyRing,
} from "../../src/seal/index.ts"
import { bytesOf, decodeResult, decodeToken, hexOf, textOf } from "./independent.ts"
import { Bound, bindingOf, remake, Vectors } from "./vector-maker.ts"

const json = z.custom<Json>((value) => value !== undefined)
const operation = z.custom<OperationId>((value) => typeof value === "string")
const time = z.iso.datetime().transform((text) => Date.parse(text))
const bytes = z.base64url().transform(bytesOf)
const hex = z.hex().transform((text) => Uint8Array.from(text.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16)))
const contents = z.strictObject({
  operation,
  round: z.number(),
  roundLimit: z.number().exactOptional(),
  issuedAt: time,
  expiresAt: time,
  deadline: time,
  home: z.strictObject({ region: z.number(), shard: z.number() }),
  asked: bytes.exactOptional(),
  state: json,
})
const vectors = z
  .strictObject({
    about: z.string(),
    keys: z.array(z.object({ key: z.string(), suite: z.number(), sealsFrom: z.string() })),
    arguments: z.array(z.strictObject({ arguments: z.string(), canonical: z.string(), digest: z.string() })),
    valid: z.array(
      z.strictObject({
        name: z.string(),
        at: time,
        bound: Bound,
        nonce: hex,
        contents,
        keyId: z.string(),
        associatedData: z.string(),
        body: z.string(),
        token: z.string(),
      }),
    ),
    invalid: z.array(z.object({ name: z.string(), at: time, bound: Bound, token: z.string(), reason: z.string() })),
    results: z.array(
      z.strictObject({
        name: z.string(),
        at: time,
        tenant: z.string(),
        operation,
        nonce: hex,
        result: json,
        box: z.string(),
      }),
    ),
  })
  .parse(JSON.parse(text))

const ring = ringOfVectors()

function ringOfVectors() {
  const parsed = parseKeyRing(JSON.stringify(vectors.keys))
  if (!parsed.ok) throw new Error(parsed.problem)
  return parsed.ring
}

describe("the published vectors", () => {
  it.each(vectors.valid)("seal: $name", async ({ at, bound, nonce, contents, token }) => {
    const sealer = createSealer({ purpose: bound.purpose, ring, now: () => at, random: () => nonce })
    const { operation, ...rest } = contents
    const begins = operation === bytesToBase64Url(nonce.subarray(0, 12))
    expect(await sealer.seal(bindingOf(bound), begins ? rest : contents)).toEqual({ token, operation })
  })

  it.each(vectors.valid)("open: $name", async ({ at, bound, contents, keyId, token }) => {
    const sealer = createSealer({ purpose: bound.purpose, ring, now: () => at, random: neverCalled })
    expect(await sealer.open(bindingOf(bound), token)).toEqual({ ok: true, contents, keyId, needsReseal: false })
  })

  it.each(vectors.valid)(
    "an independent decoder reads: $name",
    async ({ bound, contents, keyId, associatedData, body, token }) => {
      const decoded = await decodeToken(vectors.keys, bound, token)
      expect(decoded).toMatchObject({ keyId, associatedData, body, hints: decoded.carriedHints })
      const { asked, ...rest } = contents
      expect(decoded.contents).toEqual({ ...rest, ...(asked && { asked: textOf(asked) }) })
    },
  )

  it.each(vectors.invalid)("refuse: $name", async ({ at, bound, token, reason }) => {
    const sealer = createSealer({ purpose: bound.purpose, ring, now: () => at, random: neverCalled })
    const opened = await sealer.open(bindingOf(bound), token)
    expect(opened).toMatchObject({ ok: false, reason })
  })

  it("are what their inputs make: after a change of the format make them again", async () => {
    const published = JSON.parse(text)
    expect(JSON.stringify(await remake(Vectors.parse(published)))).toBe(JSON.stringify(published))
  })

  it("hold every reason, for both suites", () => {
    const reasons = vectors.invalid.map(({ name, reason }) => `${name.slice(0, 7)} ${reason}`)
    const expected = ["malformed", "unknown_key", "expired", "principal", "audience", "request", "forged"]
    expect(new Set(reasons)).toEqual(
      new Set([1, 2].flatMap((suite) => expected.map((reason) => `suite ${suite} ${reason}`))),
    )
  })

  it.each(vectors.results)("stored result, $name", async ({ at, tenant, operation, nonce, result, box }) => {
    const boxes = createResultBox({ ring, now: () => at, random: () => nonce })
    const binding = { tenant: tenant as TenantId, operation }
    expect(bytesToBase64Url(await boxes.seal(binding, result))).toBe(box)
    expect(await boxes.open(binding, bytesOf(box))).toEqual({ ok: true, result })
    expect(await decodeResult(vectors.keys, tenant, operation, box)).toEqual(result)
  })

  it.each(vectors.arguments)("arguments $arguments", async ({ arguments: given, canonical, digest }) => {
    expect(canonicalJson(JSON.parse(given))).toEqual({ ok: true, text: canonical })
    const digested = await digestArguments(JSON.parse(given))
    expect(digested.ok && hexOf(digested.digest)).toBe(hexOf(bytesOf(digest)))
  })
})

function neverCalled(): never {
  throw new Error("Opening needs no randomness.")
}
