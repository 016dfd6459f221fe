// docs/keys.md, command by command; after each deployment a Worker runs on the ring that was deployed.
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { type Api, startApi, text } from "../support/api.ts"
import { type Newcomer, newcomer } from "./newcomer.ts"
import { blocksOf, codeOf, expectPrinted } from "./page.ts"

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

/** Does something with the service as it is deployed now. */
async function deployed<Result>(use: (api: Api) => Promise<Result>): Promise<Result> {
  const api = await startApi({ storage, bindings: { SEAL_KEYS: someone.deployedRing() } })
  try {
    return await use(api)
  } finally {
    await api.stop()
  }
}

const seal = async (api: Api) => text(await api.call("/v1/seal", { ...BOUND, state: { cost: 40 } }), "requestState")
const open = (api: Api, requestState: string) => api.call("/v1/open", { ...BOUND, requestState })

it("a newcomer makes a ring, rotates it, and revokes the key that leaked", { timeout: 120_000 }, async () => {
  const [make = ""] = codeOf(blocksOf("docs/keys.md", "Keys"), "sh", 1)
  const [rotate = ""] = codeOf(blocksOf("docs/keys.md", "Rotating"), "sh", 1)
  const [listed = ""] = codeOf(blocksOf("docs/keys.md", "Rotating"), "text", 1)
  const [revoke = ""] = codeOf(blocksOf("docs/keys.md", "A key has leaked"), "sh", 1)

  await someone.sh(make)
  const before = await deployed(seal)

  expectPrinted(await someone.sh(rotate), listed)
  const afterwards = await deployed(async (api) => {
    expect(await open(api, before)).toMatchObject({ status: 200, body: { state: { cost: 40 } } })
    return seal(api)
  })

  await someone.sh(revoke)
  await deployed(async (api) => {
    for (const state of [before, afterwards]) {
      expect(await open(api, state)).toMatchObject({ status: 422, body: { reason: "unknown_key" } })
    }
    expect(await open(api, await seal(api))).toMatchObject({ status: 200 })
  })
})
