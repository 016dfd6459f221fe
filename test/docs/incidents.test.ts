// docs/incidents.md: what it tells to do, and what happens to those who do it, or do not.
import { cp, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { afterAll, beforeAll, expect, it } from "vitest"
import { type Api, startApi, text } from "../support/api.ts"
import { type Newcomer, newcomer } from "./newcomer.ts"
import { blocksOf, codeOf } from "./page.ts"

const BOUND = { principal: "user_123", request: { method: "tools/call", target: "create_project", arguments: {} } }

let someone: Newcomer
let storage: string

beforeAll(async () => {
  someone = newcomer("an empty folder")
  storage = await mkdtemp(join(tmpdir(), "waxseal-"))
})

afterAll(async () => {
  someone.leave()
  await rm(storage, { recursive: true, force: true })
})

async function deployed<Result>(use: (api: Api) => Promise<Result>): Promise<Result> {
  const api = await startApi({ storage, bindings: { SEAL_KEYS: someone.deployedRing() } })
  try {
    return await use(api)
  } finally {
    await api.stop()
  }
}

const redeem = (api: Api, requestState: string) => api.call("/v1/redeem", { ...BOUND, requestState })

it("a ledger that was restored spends again, until the ring is the one that the page makes", async () => {
  const [anew = ""] = codeOf(blocksOf("docs/incidents.md", "The ledger was restored, or lost"), "sh", 1)
  await someone.sh("waxseal keygen --out ring.json\nnpx wrangler secret put SEAL_KEYS < ring.json")
  const state = await deployed(async (api) => text(await api.call("/v1/seal", { ...BOUND, state: 40 }), "requestState"))
  const yesterday = join(storage, "../", `${Date.now()}-yesterday`)
  await cp(storage, yesterday, { recursive: true })
  const restore = async () => {
    await rm(storage, { recursive: true })
    await cp(yesterday, storage, { recursive: true })
  }

  await deployed(async (api) => {
    expect(await redeem(api, state)).toMatchObject({ status: 200 })
    expect(await redeem(api, state)).toMatchObject({ status: 409 })
  })
  await restore()
  await deployed(async (api) => expect(await redeem(api, state)).toMatchObject({ status: 200 }))

  await restore()
  await rm(yesterday, { recursive: true })
  await someone.sh(anew)
  await deployed(async (api) => {
    expect(await redeem(api, state)).toMatchObject({ status: 422, body: { reason: "unknown_key" } })
    const fresh = text(await api.call("/v1/seal", { ...BOUND, state: 40 }), "requestState")
    expect(await redeem(api, fresh)).toMatchObject({ status: 200 })
  })
})

it("an outcome that is unknown is settled by saying what was found", async () => {
  const blocks = blocksOf("docs/incidents.md", "An outcome is unknown")
  const [settle = ""] = codeOf(blocks, "sh", 1)
  const answers = codeOf(blocks, "json", 2).map((code) =>
    JSON.parse(code, (_, value) => (value === "…" ? expect.any(String) : value)),
  )
  await deployed(async (api) => {
    await api.call("/v1/operations/order-7/begin", { fingerprint: "three of A-113", leaseSeconds: 1 })
    await setTimeout(1_100)
    const printed = await someone.sh(settle, { WAXSEAL_URL: api.worker.url, TOKEN: await api.token() })
    expect(JSON.parse(`[${printed.trim().replace("}{", "},{")}]`)).toEqual(answers)
  })
})
