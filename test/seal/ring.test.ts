import { describe, expect, it } from "vitest"
import {
  bytesToBase64Url,
  DEVELOPMENT_KEY_PREFIX,
  isDevelopmentRing,
  listKeys,
  parseKeyRing,
  ringProblem,
} from "../../src/seal/index.ts"
import { BINDING, DAY, draftOf, HOUR, keyOf, NOW, ringOf, ringOfSuite, SECOND, sealerOf } from "./support.ts"

const entry = { key: keyOf(1), sealsFrom: "2026-01-01T00:00:00Z" }
const iso = (time: number) => new Date(time).toISOString()

function problemOf(value: unknown): string | undefined {
  const parsed = parseKeyRing(typeof value === "string" ? value : JSON.stringify(value))
  return parsed.ok ? undefined : parsed.problem
}

describe("SEAL_KEYS", () => {
  it.each([
    ["no JSON", "[{", "it is not JSON"],
    ["nothing", "", "it is not JSON"],
    ["an object", { keys: [] }, "it is not an array of keys"],
    ["null", null, "it is not an array of keys"],
    ["no key", [], "it holds no key"],
    ["an entry that is none", [entry, "x"], "entry 2: it is not an object"],
    ["an entry without a key", [{ sealsFrom: entry.sealsFrom }], "entry 1: key is not a string"],
    ["a key that is no string", [{ ...entry, key: 7 }], "entry 1: key is not a string"],
    ["a padded key", [{ ...entry, key: `${entry.key}=` }], "entry 1: key is not base64url without padding"],
    ["tail bits", [{ ...entry, key: `${entry.key.slice(0, -1)}B` }], "entry 1: key is not base64url without padding"],
    ["a short key", [{ ...entry, key: entry.key.slice(0, -3) }], "entry 1: key has 30 bytes and needs 32"],
    ["a long key", [{ ...entry, key: `${entry.key}AA` }], "entry 1: key is not base64url without padding"],
    ["a longer key", [{ ...entry, key: "AQID".repeat(16) }], "entry 1: key has 48 bytes and needs 32"],
    ["zeros", [{ ...entry, key: bytesToBase64Url(new Uint8Array(32)) }], "entry 1: key is not random"],
    [
      "a repeated word",
      [{ ...entry, key: bytesToBase64Url(new TextEncoder().encode("changeme".repeat(4))) }],
      "entry 1: key is not random",
    ],
    ["an unknown suite", [{ ...entry, suite: 3 }], "entry 1: suite is neither 1 nor 2"],
    ["a suite in quotes", [{ ...entry, suite: "1" }], "entry 1: suite is neither 1 nor 2"],
    ["an unknown member", [{ ...entry, sealFrom: "x" }], "entry 1: it has an unknown member"],
    ["no time", [{ key: entry.key }], "entry 1: sealsFrom is not an RFC 3339 time"],
    ["a time in milliseconds", [{ ...entry, sealsFrom: 0 }], "entry 1: sealsFrom is not an RFC 3339 time"],
    ["a date", [{ ...entry, sealsFrom: "2026-01-01" }], "entry 1: sealsFrom is not an RFC 3339 time"],
    [
      "a time of nowhere",
      [{ ...entry, sealsFrom: "2026-01-01T00:00:00" }],
      "entry 1: sealsFrom is not an RFC 3339 time",
    ],
    [
      "a day that is none",
      [{ ...entry, sealsFrom: "2026-02-30T00:00:00Z" }],
      "entry 1: sealsFrom is not an RFC 3339 time",
    ],
    ["an end that is no time", [{ ...entry, sealsUntil: "never" }], "entry 1: sealsUntil is not an RFC 3339 time"],
    ["an end that is null", [{ ...entry, sealsUntil: null }], "entry 1: sealsUntil is not an RFC 3339 time"],
    [
      "an end before the start",
      [{ ...entry, sealsUntil: "2025-01-01T00:00:00Z" }],
      "entry 1: sealsUntil is not after sealsFrom",
    ],
    ["an end at the start", [{ ...entry, sealsUntil: entry.sealsFrom }], "entry 1: sealsUntil is not after sealsFrom"],
    ["the same key twice", [entry, { ...entry, sealsFrom: iso(NOW) }], "the same key occurs twice"],
    ["the same key in both suites", [entry, { ...entry, suite: 2, sealsFrom: iso(NOW) }], "the same key occurs twice"],
    [
      "two keys at once",
      [entry, { ...entry, key: keyOf(2), sealsFrom: "2026-01-01T01:00:00+01:00" }],
      "two keys have the same sealsFrom",
    ],
  ])("refuses %s", (_, value, problem) => {
    expect(problemOf(value)).toBe(problem)
  })

  it("quotes nothing of a wrong value, not even a member's name", () => {
    const secret = keyOf(9)
    const wrong = [
      secret,
      JSON.stringify(secret),
      JSON.stringify([secret]),
      JSON.stringify([{ ...entry, [secret]: 1 }]),
      JSON.stringify([{ key: `${secret}=`, sealsFrom: secret, sealsUntil: secret, suite: secret }]),
    ]
    for (const text of wrong) expect(problemOf(text)).not.toContain(secret.slice(0, 6))
  })

  it("takes times of any zone and fraction, and entries in any order", () => {
    const ring = ringOf(
      { key: keyOf(2), suite: 2, sealsFrom: "2026-03-01T02:00:00.5+02:00", sealsUntil: "2026-04-01T00:00:00Z" },
      entry,
    )
    expect(listKeys(ring, NOW).map(({ suite, sealsFrom }) => [suite, iso(sealsFrom)])).toEqual([
      [1, "2026-01-01T00:00:00.000Z"],
      [2, "2026-03-01T00:00:00.500Z"],
    ])
  })

  it("derives another id from the same key for the other suite", () => {
    const ids = [1, 2].map((suite) => listKeys(ringOfSuite(suite, 5), NOW)[0]?.keyId)
    expect(new Set(ids).size).toBe(2)
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}$/)
  })

  it("shows no key when a ring is printed", () => {
    const printed = JSON.stringify(ringOfSuite(1)) + String(Object.values(ringOfSuite(1).keys[0] ?? {}))
    expect(printed).not.toContain(keyOf(1).slice(0, 8))
    expect(Object.values(ringOfSuite(1).keys[0] ?? {}).some((value) => value instanceof Uint8Array)).toBe(false)
  })
})

describe("a development key", () => {
  it("is known by its first bytes", () => {
    const key = crypto.getRandomValues(new Uint8Array(32))
    key.set(new TextEncoder().encode(DEVELOPMENT_KEY_PREFIX))
    const development = { key: bytesToBase64Url(key), sealsFrom: iso(NOW) }
    expect(isDevelopmentRing(ringOf(development))).toBe(true)
    expect(isDevelopmentRing(ringOf(entry, development))).toBe(true)
    expect(isDevelopmentRing(ringOf(entry))).toBe(false)
  })
})

describe("the life of a key", () => {
  const start = NOW - 10 * DAY
  const a = { key: keyOf(1), sealsFrom: iso(start) }
  const b = { key: keyOf(2), suite: 2, sealsFrom: iso(NOW + HOUR) }

  it("is listed with its states and times", () => {
    const ring = ringOf(a, b)
    const at = (now: number) => listKeys(ring, now).map(({ state }) => state)
    expect(at(start - 1)).toEqual(["upcoming", "upcoming"])
    expect(at(NOW)).toEqual(["sealing", "upcoming"])
    expect(at(NOW + HOUR - 1)).toEqual(["sealing", "upcoming"])
    expect(at(NOW + HOUR)).toEqual(["opening", "sealing"])
    const [first, second] = listKeys(ring, NOW)
    expect(first).toMatchObject({ sealsFrom: start, sealsUntil: NOW + HOUR, opensUntil: NOW + HOUR + DAY })
    expect(second).toEqual({ keyId: second?.keyId, suite: 2, state: "upcoming", sealsFrom: NOW + HOUR })
  })

  it("leaves a ring that cannot seal before its first key and after its last", async () => {
    const ring = ringOf({ ...a, sealsUntil: iso(NOW) })
    expect(ringProblem(ring, start - 1)).toMatch(/^no key seals now; /)
    expect(ringProblem(ring, start)).toBeUndefined()
    expect(ringProblem(ring, NOW - 1)).toBeUndefined()
    expect(ringProblem(ring, NOW)).toMatch(/^no key seals now; /)
    await expect(sealerOf({ ring }).seal(BINDING, draftOf())).rejects.toMatchObject({ code: "no_sealing_key" })
  })

  it("gives way to a newer one, though its own end is later", () => {
    const ring = ringOf({ ...a, sealsUntil: iso(NOW + DAY) }, { ...b, sealsFrom: iso(NOW) })
    expect(listKeys(ring, NOW - 1).map(({ state }) => state)).toEqual(["sealing", "upcoming"])
    expect(listKeys(ring, NOW).map(({ state }) => state)).toEqual(["opening", "sealing"])
  })

  it("lets an older key seal on where only the newer one ended", () => {
    const ring = ringOf(
      { ...a, sealsUntil: iso(NOW + DAY) },
      { ...b, sealsFrom: iso(NOW - HOUR), sealsUntil: iso(NOW) },
    )
    expect(listKeys(ring, NOW).map(({ state }) => state)).toEqual(["sealing", "opening"])
  })

  it("opens to the last token that could have been sealed, and no longer", async () => {
    const ring = ringOf({ ...a, sealsUntil: iso(NOW) })
    const last = NOW - 1
    const longest = draftOf({ issuedAt: last, expiresAt: last + DAY, deadline: last + DAY })
    const { token } = await sealerOf({ ring, now: () => last }).seal(BINDING, longest)
    expect(await sealerOf({ ring, now: () => last + DAY - 1 }).open(BINDING, token)).toMatchObject({ ok: true })
    expect(await sealerOf({ ring, now: () => NOW + DAY - 1 }).open(BINDING, token)).toMatchObject({ reason: "expired" })
    expect(await sealerOf({ ring, now: () => NOW + DAY }).open(BINDING, token)).toEqual({
      ok: false,
      reason: "unknown_key",
    })
  })
})

describe("a rotation, half rolled out", () => {
  const before = ringOf({ key: keyOf(1), sealsFrom: iso(NOW - 10 * DAY) })
  const after = ringOf({ key: keyOf(1), sealsFrom: iso(NOW - 10 * DAY) }, { key: keyOf(2), sealsFrom: iso(NOW + HOUR) })
  const at = (ring: typeof before, now: number) => sealerOf({ ring, now: () => now })
  const draft = (now: number) => draftOf({ issuedAt: now, expiresAt: now + HOUR, deadline: now + HOUR })

  it("breaks no dialogue in the hour before the new key seals, in either direction", async () => {
    for (const [one, other] of [
      [before, after],
      [after, before],
    ] as const) {
      for (const now of [NOW, NOW + HOUR - 1]) {
        const { token } = await at(one, now).seal(BINDING, draft(now))
        expect(await at(other, now + HOUR - 1).open(BINDING, token)).toMatchObject({ ok: true })
      }
    }
  })

  it("lets the new ring open what a straggler with the old one seals, and says so", async () => {
    const now = NOW + 2 * HOUR
    const { token } = await at(before, now).seal(BINDING, draft(now))
    expect(await at(after, now).open(BINDING, token)).toMatchObject({ ok: true, needsReseal: true })
  })

  it("opens a token of the new key where the clock is behind", async () => {
    const now = NOW + HOUR
    const { token } = await at(after, now).seal(BINDING, draft(now))
    expect(await at(after, now - 50 * SECOND).open(BINDING, token)).toMatchObject({ ok: true })
  })

  it("needs no new seal while the key still seals", async () => {
    const { token } = await at(after, NOW).seal(BINDING, draft(NOW))
    expect(await at(after, NOW + HOUR - 1).open(BINDING, token)).toMatchObject({ ok: true, needsReseal: false })
    expect(await at(after, NOW + HOUR).open(BINDING, token)).toMatchObject({ reason: "expired" })
  })

  it("revokes at once by removing the key", async () => {
    const { token } = await at(after, NOW).seal(BINDING, draft(NOW))
    const revoked = ringOf({ key: keyOf(2), sealsFrom: iso(NOW + HOUR) })
    expect(await at(revoked, NOW).open(BINDING, token)).toEqual({ ok: false, reason: "unknown_key" })
  })
})
