import { afterEach, describe, expect, it, vi } from "vitest"
import type { Json, OperationId, Principal, TenantId } from "../../src/brands.ts"
import { base64UrlToBytes, bytesToBase64Url, type Draft, type Purpose, SealError } from "../../src/seal/index.ts"
import {
  BINDING,
  DAY,
  draftOf,
  HOUR,
  keyOf,
  NOW,
  REFERENCE_STATE,
  ringOf,
  ringOfSuite,
  SECOND,
  sealerOf,
} from "./support.ts"

const ASKED = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8)
const OPERATION = "AAECAwQFBgcICQoL" as OperationId
const EXPIRY_AT = { 1: 17, 2: 29 } as const

afterEach(() => {
  vi.restoreAllMocks()
})

/** The token with some bytes of it changed. */
function altered(token: string, change: (bytes: Uint8Array) => void): string {
  const bytes = base64UrlToBytes(token) ?? new Uint8Array()
  change(bytes)
  return bytesToBase64Url(bytes)
}

function withExpiry(token: string, suite: 1 | 2, expiresAt: number): string {
  return altered(token, (bytes) => {
    const view = new DataView(bytes.buffer)
    view.setUint16(EXPIRY_AT[suite], Math.floor(expiresAt / 2 ** 32))
    view.setUint32(EXPIRY_AT[suite] + 2, expiresAt % 2 ** 32)
  })
}

describe.each([1, 2] as const)("suite %i", (suite) => {
  const ring = ringOfSuite(suite)
  const sealer = sealerOf({ ring })
  const at = (now: number) => sealerOf({ ring, now: () => now })
  const open = (token: string, changes: Partial<typeof BINDING> = {}) => sealer.open({ ...BINDING, ...changes }, token)
  const seal = async (changes: Partial<Draft> = {}) => (await sealer.seal(BINDING, draftOf(changes))).token

  it("gives back all that was sealed", async () => {
    const draft = draftOf({ operation: OPERATION, round: 3, roundLimit: 3, asked: ASKED, state: REFERENCE_STATE })
    const sealed = await sealer.seal(BINDING, draft)
    expect(sealed.operation).toBe(OPERATION)
    expect(await open(sealed.token)).toEqual({
      ok: true,
      contents: draft,
      keyId: expect.stringMatching(/^[0-9a-f]{8}$/),
      needsReseal: false,
    })
  })

  it("seals what was given, though the caller changes it at once", async () => {
    const state = { amount: 1 }
    const sealing = sealerOf({ ring }).seal(BINDING, draftOf({ state }))
    state.amount = 1_000_000
    expect(await open((await sealing).token)).toMatchObject({ ok: true, contents: { state: { amount: 1 } } })
  })

  it("keeps apart what is sealed and opened at once, before and after the subkey is there", async () => {
    const busy = sealerOf({ ring })
    const bound = (index: number) => ({ ...BINDING, target: "x".repeat((index * 37) % 1_200) })
    const every = Array.from({ length: 60 }, (_, index) => index)
    for (let time = 0; time < 2; time++) {
      const sealed = await Promise.all(
        every.map((index) => busy.seal(bound(index), draftOf({ state: { index, text: "y".repeat(index * 9) } }))),
      )
      const fresh = sealerOf({ ring })
      const opened = await Promise.all(sealed.map(({ token }, index) => fresh.open(bound(index), token)))
      for (const [index, { operation }] of sealed.entries()) {
        expect(opened[index]).toMatchObject({ ok: true, contents: { operation, state: { index } } })
      }
    }
  })

  it("keeps apart what is sealed in the middle of another seal", async () => {
    const inner: Promise<{ token: string }>[] = []
    const sealInside = () => void inner.push(busy.seal(BINDING, draftOf({ state: "inner".repeat(50) })))
    let inRandom = true
    const busy = sealerOf({
      ring,
      random: (bytes) => {
        crypto.getRandomValues(bytes)
        if (inRandom) {
          inRandom = false
          sealInside()
        }
        return bytes
      },
    })
    const state = {
      first: "written before the other begins",
      after: {
        get second() {
          if (inner.length < 20) sealInside()
          return "written after"
        },
      },
    }
    const binding = {
      ...BINDING,
      get principal() {
        if (inner.length < 30) sealInside()
        return BINDING.principal
      },
    }
    await busy.seal(BINDING, draftOf())
    for (let time = 0; time < 2; time++) {
      const outer = await busy.seal(binding, draftOf({ state }))
      expect(await open(outer.token)).toMatchObject({ ok: true, contents: { state } })
    }
    const tokens = (await Promise.all(inner)).map(({ token }) => token)
    expect(tokens.length).toBeGreaterThan(5)
    for (const token of tokens)
      expect(await open(token)).toMatchObject({ ok: true, contents: { state: "inner".repeat(50) } })
  })

  it("gives back a member that every object inherits, and cannot be assigned", async () => {
    const name = "inherited"
    Object.defineProperty(Object.prototype, name, { value: 1, writable: false, configurable: true })
    try {
      const opened = await open(await seal({ state: JSON.parse(`{"${name}":2}`) }))
      expect(opened.ok && JSON.stringify(opened.contents.state)).toBe(`{"${name}":2}`)
    } finally {
      Reflect.deleteProperty(Object.prototype, name)
    }
  })

  it("begins an operation whose id is new, and which the token tells", async () => {
    const [one, other] = [await sealer.seal(BINDING, draftOf()), await sealer.seal(BINDING, draftOf())]
    expect(one.operation).toMatch(/^[\w-]{16}$/)
    expect(one.operation).not.toBe(other.operation)
    expect(await open(one.token)).toMatchObject({ ok: true, contents: { operation: one.operation } })
  })

  it("hides the state and the binding", async () => {
    const bytes = base64UrlToBytes(await seal({ state: { word: "confidential" } })) ?? []
    expect(String.fromCharCode(...bytes)).not.toMatch(/confidential|issuer|create_project/)
  })

  it("tells nothing of two tokens by their hints", async () => {
    const hints = async () =>
      base64UrlToBytes(await seal())
        ?.slice(EXPIRY_AT[suite] + 6, EXPIRY_AT[suite] + 12)
        .join()
    expect(await hints()).not.toBe(await hints())
  })

  it("fits the sizes that it promises", async () => {
    const longer = suite === 1 ? 0 : 16
    expect((await seal({ asked: ASKED, state: REFERENCE_STATE })).length).toBeLessThanOrEqual(190 + longer)
    expect((await seal({ state: { phase: "waiting1" } })).length).toBeLessThanOrEqual(100 + longer)
    expect((await seal({ state: "\u{1f58b}{}[]~^<>@@@@" })).length).toBeLessThanOrEqual(100 + longer)
  })

  describe("refuses, and says why", () => {
    it.each([
      ["an empty string", ""],
      ["one character", "A"],
      ["a header and no more", "A".repeat(40)],
      ["a megabyte of A", "A".repeat(1_000_000)],
      ["a megabyte of dots", ".".repeat(1_000_000)],
      ["a JWT", "eyJhbGciOiJub25lIn0.e30."],
    ])("%s: malformed", async (_, token) => {
      expect(await open(token)).toEqual({ ok: false, reason: "malformed" })
    })

    it("white space, padding and line ends around a good token: malformed", async () => {
      const token = await seal()
      for (const alias of [
        `${token}=`,
        `${token}==`,
        ` ${token}`,
        `${token}\n`,
        `${token.slice(0, 9)} ${token.slice(9)}`,
      ]) {
        expect(await open(alias)).toEqual({ ok: false, reason: "malformed" })
      }
    })

    it("a good token with so much behind it that nobody should decode it: malformed", async () => {
      const token = await seal({ state: "abc" })
      expect(await open(token + "A".repeat(400))).toEqual({ ok: false, reason: "forged" })
      expect(await open(token + "A".repeat(12_400))).toEqual({ ok: false, reason: "malformed" })
    })

    it("a version of no suite: malformed; of the other suite: unknown_key", async () => {
      const token = await seal()
      const version = (number: number) => open(altered(token, (bytes) => bytes.set([number])))
      expect(await version(0)).toEqual({ ok: false, reason: "malformed" })
      expect(await version(3)).toEqual({ ok: false, reason: "malformed" })
      expect(await version(3 - suite)).toEqual({ ok: false, reason: "unknown_key" })
    })

    it("a key of another ring: unknown_key", async () => {
      const token = (await sealerOf({ ring: ringOfSuite(suite, 9) }).seal(BINDING, draftOf())).token
      expect(await open(token)).toEqual({ ok: false, reason: "unknown_key" })
    })

    it.each([
      ["principal", { principal: "mallory" as Principal, audience: "x", target: "y" }],
      ["audience", { audience: "x", target: "y" }],
      ["audience", { audience: "" }],
      ["request", { method: "prompts/get" }],
      ["request", { target: "delete_project" }],
      ["request", { argumentsDigest: new Uint8Array(32) }],
      ["forged", { tenant: "https://issuer.example globex" as TenantId }],
    ] as const)("by the precedence: %s", async (reason, changes) => {
      expect(await open(await seal(), changes)).toEqual({ ok: false, reason })
    })

    it("absent for present, and empty for absent: the field", async () => {
      const { audience: _, ...noAudience } = BINDING
      const { argumentsDigest: __, ...noArguments } = BINDING
      const token = await seal()
      expect(await sealer.open(noAudience, token)).toEqual({ ok: false, reason: "audience" })
      expect(await sealer.open(noArguments, token)).toEqual({ ok: false, reason: "request" })
      const absent = (await sealer.seal(noAudience, draftOf())).token
      expect(await open(absent, { audience: "" })).toEqual({ ok: false, reason: "audience" })
    })

    it("unknown_key before expired, and expired before principal", async () => {
      const token = await seal()
      const later = NOW + HOUR
      const other = sealerOf({ ring: ringOfSuite(suite, 9), now: () => later })
      expect(await other.open({ ...BINDING, principal: "mallory" as Principal }, token)).toMatchObject({
        reason: "unknown_key",
      })
      expect(await at(later).open({ ...BINDING, principal: "mallory" as Principal }, token)).toEqual({
        ok: false,
        reason: "expired",
      })
    })

    it("a token of another purpose: forged", async () => {
      const purposes = ["mcp", "api", "session"] as const satisfies Purpose[]
      for (const made of purposes) {
        const { token } = await sealerOf({ ring, purpose: made }).seal(BINDING, draftOf())
        for (const used of purposes) {
          const opened = await sealerOf({ ring, purpose: used }).open(BINDING, token)
          expect(opened).toMatchObject(made === used ? { ok: true } : { ok: false, reason: "forged" })
        }
      }
    })

    it("a tampered body: forged", async () => {
      const token = altered(await seal(), (bytes) => bytes.set([(bytes.at(-20) ?? 0) ^ 1], bytes.length - 20))
      expect(await open(token)).toEqual({ ok: false, reason: "forged" })
    })

    it("a binding that nothing can be bound to: forged", async () => {
      expect(await open(await seal(), { target: "a\ud800" })).toEqual({ ok: false, reason: "forged" })
      expect(await open(await seal(), { argumentsDigest: new Uint8Array(31) })).toEqual({ ok: false, reason: "forged" })
    })
  })

  describe("times", () => {
    it("has no leeway at the expiry", async () => {
      const token = await seal({ expiresAt: NOW + 1_001 })
      expect(await at(NOW + 1_000).open(BINDING, token)).toMatchObject({
        ok: true,
        contents: { expiresAt: NOW + 1_001 },
      })
      expect(await at(NOW + 1_001).open(BINDING, token)).toMatchObject({ ok: false, reason: "expired" })
    })

    it("gives an authentic expired token back for looking up, until an hour after the deadline", async () => {
      const token = await seal({ operation: OPERATION })
      const end = NOW + 600 * SECOND + HOUR
      for (const now of [NOW + 300 * SECOND, end - 1]) {
        expect(await at(now).open(BINDING, token)).toEqual({
          ok: false,
          reason: "expired",
          authentic: draftOf({ operation: OPERATION }),
        })
      }
      expect(await at(end).open(BINDING, token)).toEqual({ ok: false, reason: "expired" })
    })

    it("gives nothing back of an expired token that is forged or somebody else's", async () => {
      const token = await seal()
      const later = at(NOW + 301 * SECOND)
      const forged = altered(token, (bytes) => bytes.set([(bytes.at(-1) ?? 0) ^ 1], bytes.length - 1))
      for (const [binding, text] of [
        [{ ...BINDING, principal: "mallory" as Principal }, token],
        [BINDING, forged],
      ] as const) {
        expect(await later.open(binding, text)).toEqual({ ok: false, reason: "expired" })
      }
    })

    it("does not let anyone move the expiry", async () => {
      const token = await seal()
      for (const expiresAt of [NOW + 1, NOW + 301 * SECOND, NOW + DAY, 2 ** 48 - 1]) {
        expect(await open(withExpiry(token, suite, expiresAt))).toEqual({ ok: false, reason: "forged" })
      }
    })

    it("refuses what is issued more than a minute ahead", async () => {
      const token = await seal()
      expect(await at(NOW - 60 * SECOND).open(BINDING, token)).toMatchObject({ ok: true })
      expect(await at(NOW - 60 * SECOND - 1).open(BINDING, token)).toEqual({ ok: false, reason: "forged" })
    })

    it.each([
      "2038-01-19T03:14:07.999Z",
      "2106-02-07T06:28:15.999Z",
      "2554-07-21T23:34:33.709Z",
      "9999-12-30T00:00:00Z",
    ])("counts on exactly past %s", async (moment) => {
      const now = Date.parse(moment)
      const draft = draftOf({ operation: OPERATION, issuedAt: now, expiresAt: now + 1_234, deadline: now + 2_345 })
      const { token } = await at(now).seal(BINDING, draft)
      expect(await at(now + 1_233).open(BINDING, token)).toMatchObject({ ok: true, contents: draft })
      expect(await at(now + 1_234).open(BINDING, token)).toMatchObject({ reason: "expired" })
    })

    it("keeps milliseconds that are no whole seconds, and whole seconds", async () => {
      for (const [ttl, grace] of [
        [1, 0],
        [999, 1],
        [1_000, 1_000],
        [1_001, 999],
        [DAY, 0],
        [1, DAY - 1],
      ] as const) {
        const draft = draftOf({ expiresAt: NOW + ttl, deadline: NOW + ttl + grace })
        expect(await open(await seal(draft))).toMatchObject({ ok: true, contents: draft })
      }
    })
  })
})

describe("a draft that no token can carry", () => {
  const sealer = sealerOf({ ring: ringOfSuite(1) })

  it.each<[string, Partial<Draft>]>([
    ["a time that is no number", { issuedAt: Number.NaN }],
    ["a time before 1970", { issuedAt: -1, expiresAt: 1, deadline: 1 }],
    ["half a millisecond", { issuedAt: NOW + 0.5 }],
    ["an expiry at the issue", { expiresAt: NOW }],
    ["an expiry before it", { expiresAt: NOW - 1 }],
    ["no expiry", { expiresAt: Number.POSITIVE_INFINITY }],
    ["an expiry more than a day away", { expiresAt: NOW + DAY + 1, deadline: NOW + DAY + 1 }],
    ["a deadline before the expiry", { deadline: NOW + 300 * SECOND - 1 }],
    ["a deadline more than a day away", { deadline: NOW + DAY + 1 }],
    ["a time beyond 48 bits", { issuedAt: 2 ** 48 - 2, expiresAt: 2 ** 48 - 1, deadline: 2 ** 48 }],
    ["round 0", { round: 0 }],
    ["round 32", { round: 32 }],
    ["a round and a half", { round: 1.5 }],
    ["a round beyond its limit", { round: 4, roundLimit: 3 }],
    ["a limit beyond 31", { roundLimit: 32 }],
    ["a region below 0", { home: { region: -1, shard: 0 } }],
    ["region 256", { home: { region: 256, shard: 0 } }],
    ["shard 65536", { home: { region: 0, shard: 65_536 } }],
    ["an id of eleven bytes", { operation: "AAECAwQFBgcICQo" as OperationId }],
    ["an id that is no base64url", { operation: "AAECAwQFBgcICQo=" as OperationId }],
    ["a digest of seven bytes", { asked: new Uint8Array(7) }],
  ])("%s", async (_, changes) => {
    const sealing = sealer.seal(BINDING, draftOf(changes))
    await expect(sealing).rejects.toBeInstanceOf(SealError)
    await expect(sealing).rejects.toMatchObject({ code: "invalid_draft" })
  })

  it.each<[string, unknown, RegExp]>([
    ["undefined", undefined, /not JSON/],
    ["a Date", new Date(0), /not JSON/],
    ["NaN", { a: Number.NaN }, /not finite/],
    ["a lone surrogate", { a: "\udc00" }, /lone surrogate/],
    ["65 levels", JSON.parse("[".repeat(65) + "]".repeat(65)), /deeper than 64/],
    ["4,097 bytes of JSON", "a".repeat(4_095), /4097 bytes of JSON, at most 4096/],
    ["4,098 bytes in two-byte letters", "é".repeat(2_048), /4098 bytes of JSON/],
    ["escapes that make it too long", "\n".repeat(2_048), /4098 bytes of JSON/],
    ["a megabyte", "a".repeat(1_000_000), /more than 4096 characters/],
    ["very many values", new Array(1_000_000).fill(0), /more than 4096 values/],
  ])("a state of %s", async (_, state, message) => {
    const sealing = sealer.seal(BINDING, draftOf({ state: state as Json }))
    await expect(sealing).rejects.toMatchObject({ code: "invalid_state", message: expect.stringMatching(message) })
  })

  it.each<[string, Partial<typeof BINDING>]>([
    ["a lone surrogate in the target", { target: "\ud800" }],
    ["a lone surrogate in the audience", { audience: "\ud800" }],
    ["a lone surrogate in the principal", { principal: "\ud800" as Principal }],
    ["a target of a megabyte", { target: "a".repeat(1_048_576) }],
    ["a principal of more than 16,384 characters", { principal: "a".repeat(16_385) as Principal }],
    ["a tenant of more than 768 bytes", { tenant: "é".repeat(385) as TenantId }],
    ["a short digest", { argumentsDigest: new Uint8Array(20) }],
  ])("a binding with %s", async (_, changes) => {
    await expect(sealer.seal({ ...BINDING, ...changes }, draftOf())).rejects.toMatchObject({ code: "invalid_binding" })
  })

  it("a binding is refused before anything is derived, by what opens too", async () => {
    const { token } = await sealer.seal(BINDING, draftOf())
    const opened = await sealer.open({ ...BINDING, tenant: "é".repeat(385) as TenantId }, token)
    expect(opened).toEqual({ ok: false, reason: "forged" })
  })

  it("is never quoted", async () => {
    const failures = [
      sealer.seal(BINDING, draftOf({ state: { secret: "hunter2".repeat(1_000) } })),
      sealer.seal({ ...BINDING, principal: "hunter2\ud800" as Principal }, draftOf()),
      sealer.seal(BINDING, draftOf({ operation: "hunter2" as OperationId })),
    ]
    for (const failure of failures) await expect(failure).rejects.not.toThrow(/hunter2/)
  })
})

describe("the longest state", () => {
  it.each([
    ["text", "a".repeat(4_094)],
    ["text that does not compress", "~".repeat(4_094)],
    ["text of three bytes a letter", "€".repeat(1_364)],
    ["the numbers that grow most", [...new Array(1_022).fill(0.5), 1]],
    ["small arrays", new Array(1_365).fill([])],
    ["64 levels", JSON.parse("[".repeat(64) + "]".repeat(64))],
  ])("opens again, as %s", async (_, state) => {
    for (const suite of [1, 2]) {
      const sealer = sealerOf({ ring: ringOfSuite(suite) })
      const { token } = await sealer.seal(
        BINDING,
        draftOf({ operation: OPERATION, asked: ASKED, roundLimit: 9, state }),
      )
      expect(await sealer.open(BINDING, token)).toMatchObject({ ok: true, contents: { state } })
    }
  })
})

describe("derived subkeys", () => {
  const ring = ringOfSuite(1)
  const derivations = () => vi.spyOn(crypto.subtle, "deriveKey")

  it("are derived once for a tenant's hour, and apart for others", async () => {
    const sealer = sealerOf({ ring })
    const derive = derivations()
    const { token } = await sealer.seal(BINDING, draftOf())
    await sealer.open(BINDING, token)
    await sealer.seal(BINDING, draftOf({ expiresAt: NOW + 301 * SECOND }))
    expect(derive).toHaveBeenCalledTimes(1)
    await sealer.seal({ ...BINDING, tenant: "other" as TenantId }, draftOf())
    expect(derive).toHaveBeenCalledTimes(2)
    await sealer.seal(BINDING, draftOf({ expiresAt: NOW + HOUR, deadline: NOW + HOUR }))
    expect(derive).toHaveBeenCalledTimes(3)
  })

  it("are not derived for what is malformed, of an unknown key, long past or far ahead", async () => {
    const { token } = await sealerOf({ ring }).seal(BINDING, draftOf())
    const sealer = sealerOf({ ring })
    const derive = derivations()
    const decrypt = vi.spyOn(crypto.subtle, "decrypt")
    await sealer.open(BINDING, `${token}=`)
    await sealer.open(
      BINDING,
      altered(token, (bytes) => bytes.set([7, 7, 7, 7], 1)),
    )
    for (const expiresAt of [0, NOW - DAY - HOUR, NOW + DAY + 60 * SECOND + 1, 2 ** 48 - 1]) {
      await sealer.open(BINDING, withExpiry(token, 1, expiresAt))
    }
    expect(derive).not.toHaveBeenCalled()
    expect(decrypt).not.toHaveBeenCalled()
  })

  it("are forgotten when only a forgery asked for them, and forgeries push out no other", async () => {
    const { token } = await sealerOf({ ring }).seal(BINDING, draftOf())
    const sealer = sealerOf({ ring })
    await sealer.open(BINDING, token)
    const derive = derivations()
    const tenants = Array.from({ length: 2_000 }, (_, index) => `tenant ${index}` as TenantId)
    for (const tenant of tenants) await sealer.open({ ...BINDING, tenant }, token)
    expect(derive).toHaveBeenCalledTimes(2_000)
    await sealer.open({ ...BINDING, tenant: "tenant 1999" as TenantId }, token)
    expect(derive).toHaveBeenCalledTimes(2_001)
    await sealer.open(BINDING, token)
    expect(derive).toHaveBeenCalledTimes(2_001)
  })

  it("cannot be exported", async () => {
    const derive = derivations()
    await sealerOf({ ring }).seal(BINDING, draftOf())
    const [subkey] = await Promise.all(derive.mock.results.map(({ value }) => value))
    expect(subkey).toMatchObject({ extractable: false })
  })
})

describe("the source of randomness", () => {
  it("is asked for one nonce a seal, and none to open", async () => {
    for (const [suite, length] of [
      [1, 12],
      [2, 24],
    ] as const) {
      const random = vi.fn((bytes: Uint8Array<ArrayBuffer>) => crypto.getRandomValues(bytes))
      const sealer = sealerOf({ ring: ringOfSuite(suite), random })
      const { token } = await sealer.seal(BINDING, draftOf())
      await sealer.open(BINDING, token)
      expect(random.mock.calls.map(([bytes]) => bytes.length)).toEqual([length])
    }
  })

  it("may answer in bytes of its own", async () => {
    const own = Uint8Array.from({ length: 12 }, (_, index) => index)
    const sealer = sealerOf({ ring: ringOfSuite(1), random: () => own })
    expect(await sealer.seal(BINDING, draftOf())).toMatchObject({ operation: OPERATION })
  })
})

describe("two keys of different suites in one ring", () => {
  it("open each its own", async () => {
    const ring = ringOf(
      { key: keyOf(1), suite: 1, sealsFrom: "2026-01-01T00:00:00Z" },
      { key: keyOf(2), suite: 2, sealsFrom: "2026-08-14T09:30:00.123Z" },
    )
    const before = sealerOf({ ring, now: () => NOW - 1 })
    const after = sealerOf({ ring })
    const old = await before.seal(BINDING, draftOf())
    const young = await after.seal(BINDING, draftOf())
    expect(await after.open(BINDING, old.token)).toMatchObject({ ok: true, needsReseal: true })
    expect(await after.open(BINDING, young.token)).toMatchObject({ ok: true, needsReseal: false })
  })
})
