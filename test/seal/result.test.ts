import { describe, expect, it } from "vitest"
import type { Json, OperationId, TenantId } from "../../src/brands.ts"
import { createResultBox, type KeyRing, RESULT_LIMIT_BYTES } from "../../src/seal/index.ts"
import { DAY, keyOf, NOW, ringOf, ringOfSuite } from "./support.ts"

const BINDING = { tenant: "acme" as TenantId, operation: "AAECAwQFBgcICQoL" as OperationId }
const boxOf = (ring: KeyRing, now = NOW) =>
  createResultBox({ ring, now: () => now, random: (bytes) => crypto.getRandomValues(bytes) })

describe.each([1, 2])("stored results, suite %i", (suite) => {
  const ring = ringOfSuite(suite)
  const box = boxOf(ring)

  it.each<[string, Json]>([
    ["null", null],
    ["an object", { database: { name: "é\u{1f58b}", tags: [1, 2.5, true] } }],
    ["a string with a lone surrogate", "a\ud800"],
    ["a member named __proto__", JSON.parse('{"__proto__":1}')],
  ])("give back %s", async (_, result) => {
    expect(await box.open(BINDING, await box.seal(BINDING, result))).toEqual({ ok: true, result })
  })

  it("take a mebibyte of JSON and not a byte more", async () => {
    const longest = "a".repeat(RESULT_LIMIT_BYTES - 2)
    expect(await box.open(BINDING, await box.seal(BINDING, longest))).toEqual({ ok: true, result: longest })
    await expect(box.seal(BINDING, `${longest}a`)).rejects.toMatchObject({ code: "invalid_result" })
    await expect(box.seal(BINDING, "é".repeat(RESULT_LIMIT_BYTES / 2))).rejects.toMatchObject({
      code: "invalid_result",
    })
  })

  it("open for no other tenant or operation", async () => {
    const sealed = await box.seal(BINDING, 1)
    expect(await box.open({ ...BINDING, tenant: "globex" as TenantId }, sealed)).toEqual({ ok: false })
    expect(await box.open({ ...BINDING, operation: "AAECAwQFBgcICQoM" as OperationId }, sealed)).toEqual({ ok: false })
  })

  it("refuse every change of a bit, truncation and extension", async () => {
    const sealed = await box.seal(BINDING, "x")
    for (let bit = 0; bit < 8 * sealed.length; bit++) {
      const changed = sealed.with(bit >> 3, (sealed[bit >> 3] ?? 0) ^ (1 << (bit & 7)))
      expect(await box.open(BINDING, changed)).toEqual({ ok: false })
    }
    for (let length = 0; length < sealed.length; length++) {
      expect(await box.open(BINDING, sealed.slice(0, length))).toEqual({ ok: false })
    }
    expect(await box.open(BINDING, Uint8Array.of(...sealed, 0))).toEqual({ ok: false })
  })

  it("open from any stretch of a longer buffer", async () => {
    const sealed = await box.seal(BINDING, "x")
    const page = Uint8Array.of(9, 9, 9, ...sealed, 9)
    expect(await box.open(BINDING, page.subarray(3, -1))).toEqual({ ok: true, result: "x" })
  })

  it("hide the result", async () => {
    const sealed = await box.seal(BINDING, "confidential")
    expect(String.fromCharCode(...sealed)).not.toContain("confidential")
  })

  it("open for as long as their key is in the ring, though it seals and opens no token any more", async () => {
    const entry = { key: keyOf(suite), suite, sealsFrom: "2026-01-01T00:00:00Z" }
    const sealed = await box.seal(BINDING, 1)
    const years = NOW + 1_000 * DAY
    const young = { key: keyOf(7), sealsFrom: "2026-09-01T00:00:00Z" }
    expect(
      await boxOf(ringOf({ ...entry, sealsUntil: "2026-09-01T00:00:00Z" }, young), years).open(BINDING, sealed),
    ).toEqual({
      ok: true,
      result: 1,
    })
    expect(await boxOf(ringOf(young), years).open(BINDING, sealed)).toEqual({ ok: false })
  })

  it("need a key that seals", async () => {
    await expect(boxOf(ring, 0).seal(BINDING, 1)).rejects.toMatchObject({ code: "no_sealing_key" })
  })
})
