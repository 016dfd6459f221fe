import { describe, expect, it } from "vitest"
import { type Subkey, SubkeyCache } from "../../src/seal/subkeys.ts"
import type { Cipher } from "../../src/seal/suites.ts"

const cipher: Cipher = { encrypt: async (_, __, bytes) => bytes, decrypt: async (_, __, bytes) => bytes }
const named = (name: string): Subkey => ({ name, cipher })
const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`)

describe("the cache of subkeys", () => {
  it("never holds more than its capacity", () => {
    const cache = new SubkeyCache(8)
    for (const name of names(100)) cache.keep(named(name))
    expect(names(100).filter((name) => cache.peek(name)).length).toBeLessThanOrEqual(8)
  })

  it("keeps what is used between the uses of others", () => {
    const cache = new SubkeyCache(8)
    const busy = named("busy")
    for (const name of names(100)) {
      cache.keep(busy)
      cache.keep(named(name))
      expect(cache.peek("busy")).toBe(busy)
    }
  })

  it("forgets what is only looked at", () => {
    const cache = new SubkeyCache(8)
    cache.keep(named("idle"))
    for (const name of names(8)) {
      cache.peek("idle")
      cache.keep(named(name))
    }
    expect(cache.peek("idle")).toBeUndefined()
  })
})
