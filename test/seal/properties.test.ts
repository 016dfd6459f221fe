import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { Json, Principal, TenantId } from "../../src/brands.ts"
import {
  type Binding,
  base64UrlToBytes,
  bytesToBase64Url,
  type Contents,
  type Purpose,
  SealError,
} from "../../src/seal/index.ts"
import { DAY, draftOf, NOW, ringOfSuite, sealerOf } from "./support.ts"

const REASONS = ["malformed", "unknown_key", "expired", "principal", "audience", "request", "forged"]
/** Without shrinking: it could take for ever, and no time-out ends a loop that waits for nothing but cryptography. */
const RUNS = { numRuns: 1_000, endOnFailure: true }

const text = fc.string({ unit: "binary", maxLength: 40 })
const number = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.maxSafeInteger(), fc.integer())
const name = fc.oneof(text, fc.constantFrom("__proto__", "constructor", "", "0", "toJSON", "length"))
const { state } = fc.letrec<{ state: Json }>((tie) => ({
  state: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom(null, true, false, -0, 0, 2 ** 53, -(2 ** 31), 5e-324, Number.MAX_VALUE, "\ufeff", "\0"),
    number,
    text,
    fc.string({ unit: fc.constantFrom("a", "~", "é", "€", "\u{1f58b}"), minLength: 200, maxLength: 600 }),
    fc.array(tie("state"), { maxLength: 6 }),
    fc.array(fc.tuple(name, tie("state")), { maxLength: 6 }).map((members): Json => Object.fromEntries(members)),
  ),
}))

const binding: fc.Arbitrary<Binding> = fc.record(
  {
    tenant: text.map((text) => text as TenantId),
    audience: text,
    principal: text.map((text) => text as Principal),
    method: text,
    target: text,
    argumentsDigest: fc.uint8Array({ minLength: 32, maxLength: 32 }),
  },
  { requiredKeys: ["tenant", "principal", "method", "target"] },
)
const suite = fc.constantFrom(1 as const, 2 as const)
const purpose = fc.constantFrom<Exclude<Purpose, "result">>("mcp", "api", "session")

const rings = { 1: ringOfSuite(1), 2: ringOfSuite(2) }
const sealer = { 1: sealerOf({ ring: rings[1] }), 2: sealerOf({ ring: rings[2] }) }

/** Compares exactly, own members named `__proto__` and their order included, but for the sign of zero. */
const textOf = ({ state, asked, ...rest }: Contents) =>
  JSON.stringify([asked && bytesToBase64Url(asked), Object.entries(rest).sort(), state])

describe("for any state and binding", () => {
  it("what is sealed opens to the same, of either suite", async () => {
    const draft = fc.record({
      ttl: fc.integer({ min: 1, max: DAY }),
      round: fc.integer({ min: 1, max: 31 }),
      region: fc.integer({ min: 0, max: 255 }),
      shard: fc.integer({ min: 0, max: 65_535 }),
      asked: fc.uint8Array({ minLength: 8, maxLength: 8 }),
      state,
    })
    const roundTrip = fc.asyncProperty(
      suite,
      binding,
      draft,
      async (suite, binding, { ttl, region, shard, ...rest }) => {
        const expiresAt = NOW + ttl
        const draft = draftOf({ ...rest, expiresAt, deadline: NOW + DAY, home: { region, shard } })
        const sealing = sealer[suite].seal(binding, draft)
        const tooLong = new TextEncoder().encode(JSON.stringify(draft.state)).length > 4_096
        if (tooLong) {
          await expect(sealing).rejects.toBeInstanceOf(SealError)
          return
        }
        const { token, operation } = await sealing
        const opened = await sealer[suite].open(binding, token)
        expect(opened.ok && textOf(opened.contents)).toBe(textOf({ ...draft, operation }))
      },
    )
    await fc.assert(roundTrip, RUNS)
  })

  it("every changed bit is refused", async () => {
    const flipped = fc.asyncProperty(suite, state, fc.nat(), async (suite, state, position) => {
      const bytes = await sealedBytes(suite, state)
      const bit = position % (8 * bytes.length)
      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(await sealer[suite].open(FIXED, bytesToBase64Url(bytes))).toMatchObject({ ok: false })
    })
    await fc.assert(flipped, RUNS)
  })

  it("every truncation and extension is refused", async () => {
    const cut = fc.asyncProperty(
      suite,
      fc.nat(),
      fc.string({ unit: fc.constantFrom(..."A_-9=\n ."), minLength: 1 }),
      async (suite, at, tail) => {
        const { token } = await sealer[suite].seal(FIXED, draftOf())
        for (const text of [token.slice(0, at % token.length), token + tail, tail + token]) {
          expect(await sealer[suite].open(FIXED, text)).toMatchObject({ ok: false })
        }
      },
    )
    await fc.assert(cut, RUNS)
  })

  it("every other spelling of the same bytes is refused", async () => {
    const alias = fc.asyncProperty(
      suite,
      fc.nat(),
      fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
      async (suite, at, other) => {
        const { token } = await sealer[suite].seal(FIXED, draftOf())
        const index = at % 4 === 0 ? token.length - 1 : at % token.length
        fc.pre(token[index] !== other)
        const text = token.slice(0, index) + other + token.slice(index + 1)
        expect(await sealer[suite].open(FIXED, text)).toMatchObject({ ok: false })
      },
    )
    await fc.assert(alias, RUNS)
  })

  it("every change of a bound field is refused", async () => {
    const changed = fc.asyncProperty(suite, binding, binding, async (suite, one, other) => {
      const { token } = await sealer[suite].seal(one, draftOf())
      for (const field of ["tenant", "audience", "principal", "method", "target", "argumentsDigest"] as const) {
        const { [field]: before, ...rest } = one
        const after = other[field]
        if (String(before) === String(after) && (before === undefined) === (after === undefined)) continue
        const changed = { ...rest, ...(after !== undefined && { [field]: after }) } as Binding
        expect(await sealer[suite].open(changed, token)).toMatchObject({ ok: false })
      }
    })
    await fc.assert(changed, RUNS)
  })

  it("no token opens for another tenant, audience, purpose or suite", async () => {
    const used = fc.record({
      suite,
      purpose,
      tenant: fc.constantFrom("a", "b"),
      audience: fc.constantFrom("a", "b", undefined),
    })
    const apart = fc.asyncProperty(used, used, async (made, tried) => {
      const { token } = await sealerOf({ ring: rings[made.suite], purpose: made.purpose }).seal(
        boundTo(made),
        draftOf(),
      )
      const opened = await sealerOf({ ring: rings[tried.suite], purpose: tried.purpose }).open(boundTo(tried), token)
      expect(opened.ok).toBe(JSON.stringify(made) === JSON.stringify(tried))
    })
    await fc.assert(apart, RUNS)
  })

  it("text moved from one bound field to its neighbour is refused", async () => {
    const moved = fc.asyncProperty(suite, text, fc.nat(), async (suite, text, at) => {
      const split = (position: number) => {
        const units = [...text]
        const cut = position % (units.length + 1)
        return { ...FIXED, method: units.slice(0, cut).join(""), target: units.slice(cut).join("") }
      }
      const [one, other] = [split(at), split(at + 1)]
      fc.pre(one.method !== other.method)
      const { token } = await sealer[suite].seal(one, draftOf())
      expect(await sealer[suite].open(other, token)).toMatchObject({ ok: false })
    })
    await fc.assert(moved, RUNS)
  })
})

describe("for any text", () => {
  it("opening answers with a reason and never throws", async () => {
    const anything = fc.oneof(
      fc.string({ unit: "binary", maxLength: 300 }),
      fc.base64String().map((text) => text.replaceAll("=", "")),
      fc.uint8Array({ maxLength: 200 }).map(bytesToBase64Url),
    )
    const tagged = fc.asyncProperty(suite, anything, async (suite, text) => {
      const opened = await sealer[suite].open(FIXED, text)
      expect(!opened.ok && REASONS.includes(opened.reason)).toBe(true)
    })
    await fc.assert(tagged, RUNS)
  })

  it("random bytes behind a true header are refused without a throw", async () => {
    const grafted = fc.asyncProperty(suite, fc.uint8Array({ maxLength: 100 }), async (suite, tail) => {
      const header = (await sealedBytes(suite, null)).slice(0, suite === 1 ? 29 : 41)
      const opened = await sealer[suite].open(FIXED, bytesToBase64Url(Uint8Array.of(...header, ...tail)))
      expect(opened).toEqual({ ok: false, reason: tail.length <= 16 ? "malformed" : "forged" })
    })
    await fc.assert(grafted, RUNS)
  })
})

const FIXED: Binding = { tenant: "t" as TenantId, principal: "p" as Principal, method: "tools/call", target: "x" }

function boundTo({ tenant, audience }: { tenant: string; audience: string | undefined }): Binding {
  return { ...FIXED, tenant: tenant as TenantId, ...(audience !== undefined && { audience }) }
}

async function sealedBytes(suite: 1 | 2, state: Json) {
  fc.pre(JSON.stringify(state).length < 1_300)
  const { token } = await sealer[suite].seal(FIXED, draftOf({ state }))
  return base64UrlToBytes(token) ?? new Uint8Array()
}
