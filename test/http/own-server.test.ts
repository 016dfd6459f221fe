import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { buildBundle } from "../support/bundle.ts"
import { makeIdentity } from "../support/identity.ts"
import { call, errorOf, resultOf } from "../support/mcp.ts"
import { type Running, startWorker } from "../support/workerd.ts"

const FIXTURE = { config: "test/fixtures/asking/wrangler.toml", sources: ["src", "test/fixtures/asking"] }

let storage: string
let worker: Running

beforeAll(async () => {
  const { SEAL_KEYS } = (await makeIdentity()).bindings
  storage = await mkdtemp(join(tmpdir(), "waxseal-"))
  const bundle = await buildBundle(FIXTURE)
  worker = await startWorker({ bundle, bindings: { SEAL_KEYS, AUTH_MODE: "none" }, storage })
})

afterAll(async () => {
  await worker.stop()
  await rm(storage, { recursive: true, force: true })
})

const send = (name: string, more: object = {}) =>
  call(`${worker.url}/mcp`, { method: "tools/call", name, arguments: {}, ...more })

describe("what an author's effect gives", () => {
  it("does not stand for the outcome", async () => {
    const { requestState = "" } = resultOf(await send("gives_an_outcome"))
    const { structuredContent } = resultOf(await send("gives_an_outcome", { requestState }))
    expect(structuredContent).toMatchObject({ status: "completed", operationId: expect.not.stringContaining("mine") })
    expect(structuredContent?.["nextAction"]).not.toBe("again")
  })

  it("is left out where it is not what was declared: what was done is not called an error", async () => {
    const { requestState = "" } = resultOf(await send("gives_another_kind"))
    for (let time = 0; time < 2; time += 1) {
      const { isError = false, structuredContent } = resultOf(await send("gives_another_kind", { requestState }))
      expect({ isError, ...structuredContent }).toMatchObject({
        isError: false,
        status: "completed",
        resultOmitted: true,
      })
      expect(structuredContent).not.toHaveProperty("n")
    }
    expect(worker.logs()).toContain('"problem":"What gives_another_kind gives is not its result."')
  })
})

it.each(["constructor", "toString", "__proto__", "unknown"])("a tool called %s: -32602", async (name) => {
  expect(errorOf(await send(name)).code).toBe(-32602)
})
