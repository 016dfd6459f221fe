// docs/incidents.md: what it tells to do, and what happens to those who do it, or do not.
import { cp, rm } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { afterAll, beforeAll, expect, it } from "vitest"
import { type Api, text } from "../support/api.ts"
import { type Deployer, deployer } from "./deployed.ts"
import { blocksOf, codeOf } from "./page.ts"

const BOUND = { principal: "user_123", request: { method: "tools/call", target: "create_project", arguments: {} } }

let newcomer: Deployer

beforeAll(async () => {
  newcomer = await deployer()
})

afterAll(() => newcomer.leave())

const redeem = (api: Api, requestState: string) => api.call("/v1/redeem", { ...BOUND, requestState })

it("a ledger that was restored spends again, until the ring is the one that the page makes", async () => {
  const [anew = ""] = codeOf(blocksOf("docs/incidents.md", "The ledger was restored, or lost"), "sh", 1)
  await newcomer.someone.sh("waxseal keygen --out ring.json\nnpx wrangler secret put SEAL_KEYS < ring.json")
  const state = await newcomer.deployed(async (api) =>
    text(await api.call("/v1/seal", { ...BOUND, state: 40 }), "requestState"),
  )
  const yesterday = join(newcomer.storage, "../", `${Date.now()}-yesterday`)
  await cp(newcomer.storage, yesterday, { recursive: true })
  const restore = async () => {
    await rm(newcomer.storage, { recursive: true })
    await cp(yesterday, newcomer.storage, { recursive: true })
  }

  await newcomer.deployed(async (api) => {
    expect(await redeem(api, state)).toMatchObject({ status: 200 })
    expect(await redeem(api, state)).toMatchObject({ status: 409 })
  })
  await restore()
  await newcomer.deployed(async (api) => expect(await redeem(api, state)).toMatchObject({ status: 200 }))

  await restore()
  await rm(yesterday, { recursive: true })
  await newcomer.someone.sh(anew)
  await newcomer.deployed(async (api) => {
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
  await newcomer.deployed(async (api) => {
    await api.call("/v1/operations/order-7/begin", { fingerprint: "three of A-113", leaseSeconds: 1 })
    await setTimeout(1_100)
    const printed = await newcomer.someone.sh(settle, { WAXSEAL_URL: api.worker.url, TOKEN: await api.token() })
    expect(JSON.parse(`[${printed.trim().replace("}{", "},{")}]`)).toEqual(answers)
  })
})
