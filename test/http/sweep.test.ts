import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { buildBundle } from "../support/bundle.ts"
import { startWorker } from "../support/workerd.ts"

const FILLED_AT_ONCE = 20_000
const RECORDS = 60_000
/** Of an object that keeps nothing but the time of its sweep. */
const SWEPT_BYTES = 8_192

it("an object of many old records answers while it sweeps them, and keeps two pages", async () => {
  const storage = await mkdtemp(join(tmpdir(), "waxseal-"))
  const bundle = await buildBundle({
    config: "test/fixtures/ledger/wrangler.toml",
    sources: ["src", "test/fixtures/ledger"],
  })
  const worker = await startWorker({ bundle, bindings: {}, storage })
  const post = async (path: string) => (await fetch(`${worker.url}${path}`, { method: "POST" })).text()
  try {
    for (let filled = 0; filled < RECORDS; filled += FILLED_AT_ONCE) await post(`/expired/old?count=${FILLED_AT_ONCE}`)
    const full = Number(await post("/sweep/old"))
    const sizes: number[] = []
    do {
      expect(await post("/late/old")).toBe("late")
      sizes.push(Number(await post("/size/old")))
    } while (Number(sizes.at(-1)) > SWEPT_BYTES)
    const between = new Set(sizes.filter((size) => size > SWEPT_BYTES && size < full))
    expect(between.size).toBeGreaterThan(1)
  } finally {
    await worker.kill()
    await rm(storage, { recursive: true, force: true })
  }
}, 120_000)
