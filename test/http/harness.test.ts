import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { onBed } from "../../bench/lib/bed.ts"
import { mcp } from "../../bench/mcp.ts"
import { buildBundle } from "../support/bundle.ts"
import { makeIdentity } from "../support/identity.ts"
import { startWorker } from "../support/workerd.ts"

let storage: string

beforeAll(async () => {
  storage = await mkdtemp(join(tmpdir(), "waxseal-"))
  await buildBundle()
}, 120_000)

afterAll(() => rm(storage, { recursive: true, force: true }))

describe("the harness", () => {
  test("ends a Worker when the process that started it is killed", async () => {
    const harness = join(import.meta.dirname, "../support/workerd.ts")
    const options = { bindings: {}, storage: join(storage, "orphan") }
    const script = `
      import { startWorker } from ${JSON.stringify(harness)}
      console.log((await startWorker(${JSON.stringify(options)})).url)`
    const parent = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      stdio: ["ignore", "pipe", "inherit"],
    })
    const url = String((await once(parent.stdout, "data"))[0]).trim()
    expect(await answers(url)).toBe(true)
    parent.kill("SIGKILL")
    await expect.poll(() => answers(url), { timeout: 5_000 }).toBe(false)
  })

  test("says why a Worker did not start", async () => {
    const { bindings } = await makeIdentity()
    const worker = await startWorker({ bindings, storage: join(storage, "first") })
    const second = startWorker({ bindings, storage: join(storage, "second"), port: worker.port })
    await expect(second).rejects.toThrow("Address already in use")
    await worker.stop()
  })
})

describe("the bench", () => {
  test("measures both sides at the same work", async () => {
    const [ask] = await mcp({ pairs: 1, seconds: 0.2 })
    expect(ask?.ratio).toBeGreaterThan(0)
    expect(ask?.value).toBeGreaterThan(0)
  })

  test("counts no wrong answer", async () => {
    await onBed(async ({ start, load }) => {
      const { url } = await start(await buildBundle())
      const job = { scenario: "ask", url, token: "none", connections: 1, seconds: 0.1 } as const
      await expect(load.run(job)).rejects.toThrow("HTTP 401")
    })
  })
})

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    () => true,
    () => false,
  )
}
