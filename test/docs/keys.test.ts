import { afterAll, beforeAll, expect, it } from "vitest"
import { type Api, text } from "../support/api.ts"
import { type Deployer, deployer } from "./deployed.ts"
import { blocksOf, codeOf, expectPrinted } from "./page.ts"

const BOUND = { principal: "user_123", request: { method: "tools/call", target: "create_project", arguments: {} } }

let newcomer: Deployer

beforeAll(async () => {
  newcomer = await deployer()
})

afterAll(() => newcomer.leave())

const seal = async (api: Api) => text(await api.call("/v1/seal", { ...BOUND, state: { cost: 40 } }), "requestState")
const open = (api: Api, requestState: string) => api.call("/v1/open", { ...BOUND, requestState })

it("a newcomer makes a ring, rotates it, and revokes the key that leaked", { timeout: 120_000 }, async () => {
  const [make = ""] = codeOf(blocksOf("docs/keys.md", "Keys"), "sh", 1)
  const [rotate = ""] = codeOf(blocksOf("docs/keys.md", "Rotating"), "sh", 1)
  const [listed = ""] = codeOf(blocksOf("docs/keys.md", "Rotating"), "text", 1)
  const [revoke = ""] = codeOf(blocksOf("docs/keys.md", "A key has leaked"), "sh", 1)

  await newcomer.someone.sh(make)
  const before = await newcomer.deployed(seal)

  expectPrinted(await newcomer.someone.sh(rotate), listed)
  const afterwards = await newcomer.deployed(async (api) => {
    expect(await open(api, before)).toMatchObject({ status: 200, body: { state: { cost: 40 } } })
    return seal(api)
  })

  await newcomer.someone.sh(revoke)
  await newcomer.deployed(async (api) => {
    for (const state of [before, afterwards]) {
      expect(await open(api, state)).toMatchObject({ status: 422, body: { reason: "unknown_key" } })
    }
    expect(await open(api, await seal(api))).toMatchObject({ status: 200 })
  })
})
