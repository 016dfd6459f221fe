// A server of the official SDK on Node, two replicas of it, whose states the built Worker seals and spends.
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { afterAll, beforeAll, expect, it } from "vitest"
import { type Api, startApi } from "../support/api.ts"
import { ROOT } from "../support/bundle.ts"
import { call, errorOf, resultOf } from "../support/mcp.ts"
import { startNodeServer } from "../support/node-server.ts"

let api: Api
let folder: string
let server: Awaited<ReturnType<typeof startNodeServer>>

beforeAll(async () => {
  api = await startApi()
  folder = await mkdtemp(join(tmpdir(), "waxseal-"))
  const settings = {
    WAXSEAL_URL: api.worker.url,
    WAXSEAL_TOKEN: await api.token(),
    USERS: JSON.stringify({ "token-of-alice": "alice", "token-of-bob": "bob" }),
    RELEASES: join(folder, "releases"),
  }
  const asInstalled = pathToFileURL(join(ROOT, "test/support/as-installed.ts")).href
  server = await startNodeServer(join(ROOT, "examples/node-server"), settings, ["--import", asInstalled])
})

afterAll(async () => {
  await server.stop()
  await api.stop()
  await rm(folder, { recursive: true, force: true })
})

const ALREADY_USED = { isError: true, structuredContent: { status: "already_used", retryable: false } }
const approval = (approved: boolean) => ({ approval: { action: "accept", content: { approved } } })

const send = (version: string, changes: object = {}) =>
  call(server.url, {
    token: "token-of-alice",
    method: "tools/call",
    name: "release",
    arguments: { version },
    ...changes,
  })

async function ask(version: string): Promise<string> {
  const { resultType, requestState = "", inputRequests } = resultOf(await send(version))
  expect(resultType).toBe("input_required")
  expect(inputRequests).toMatchObject({ approval: { params: { message: `Release ${version} to everyone?` } } })
  return requestState
}

async function released(version: string): Promise<number> {
  const text = await readFile(join(folder, "releases"), "utf8").catch(() => "")
  return text.split("\n").filter((line) => line === version).length
}

it("asks on one replica and acts on the other, once", async () => {
  const requestState = await ask("1.0.0")
  const leg = { requestState, inputResponses: approval(true) }
  const done = resultOf(await send("1.0.0", leg))
  expect(done).toMatchObject({ content: [{ type: "text", text: "1.0.0 was released." }] })
  for (let time = 0; time < 2; time++) expect(resultOf(await send("1.0.0", leg))).toMatchObject(ALREADY_USED)
  expect(await released("1.0.0")).toBe(1)
})

it("acts once when twenty legs race", async () => {
  const leg = { requestState: await ask("2.0.0"), inputResponses: approval(true) }
  const results = await Promise.all(Array.from({ length: 20 }, () => send("2.0.0", leg)))
  expect(results.filter((answer) => !resultOf(answer).isError)).toHaveLength(1)
  expect(await released("2.0.0")).toBe(1)
})

it("holds a no to be final", async () => {
  for (const [version, no] of [
    ["3.0.0", approval(false)],
    ["3.0.1", { approval: { action: "decline" } }],
  ] as const) {
    const requestState = await ask(version)
    const said = resultOf(await send(version, { requestState, inputResponses: no }))
    expect(said).toMatchObject({ content: [{ text: `${version} was not released.` }] })
    const yes = resultOf(await send(version, { requestState, inputResponses: approval(true) }))
    expect(yes).toMatchObject(ALREADY_USED)
    expect(await released(version)).toBe(0)
  }
})

it("asks again for an answer that is none, as often as its rounds allow, and one yes spends them all", async () => {
  const first = await ask("4.0.0")
  const useless = { approval: { action: "accept", content: { approved: "yes" } } }
  const second = resultOf(await send("4.0.0", { requestState: first, inputResponses: useless })).requestState
  expect(second).not.toBe(first)
  const leg = { requestState: second, inputResponses: approval(true) }
  expect(resultOf(await send("4.0.0", leg)).isError).toBeFalsy()
  expect(resultOf(await send("4.0.0", { ...leg, requestState: first }))).toMatchObject(ALREADY_USED)
  expect(await released("4.0.0")).toBe(1)

  let requestState: string | undefined = await ask("4.0.1")
  for (let round = 2; round <= 3; round++) {
    requestState = resultOf(await send("4.0.1", { requestState, inputResponses: useless })).requestState
  }
  expect(resultOf(await send("4.0.1", { requestState, inputResponses: useless }))).toMatchObject({ isError: true })
})

it("refuses what was sealed for another person or another version, and answers without state", async () => {
  const requestState = await ask("5.0.0")
  const leg = { requestState, inputResponses: approval(true) }
  const forged = `${requestState.slice(0, -4)}AAAA`
  for (const answer of [
    await send("5.0.0", { ...leg, token: "token-of-bob" }),
    await send("5.0.1", leg),
    await send("5.0.0", { ...leg, requestState: forged }),
    await send("5.0.0", { ...leg, requestState: "" }),
  ]) {
    expect(errorOf(answer)).toMatchObject({ code: -32_602, data: { reason: "invalid_request_state" } })
  }
  const unasked = resultOf(await send("5.0.0", { inputResponses: approval(true) }))
  expect(unasked.resultType).toBe("input_required")
  expect(await released("5.0.0")).toBe(0)
})

it("takes no version that would break a line or a question", async () => {
  for (const version of ["", "7.0.0\n8.0.0", "7.0.0 to nobody.\u0000", "7".repeat(51), "7.0.0\u202e"]) {
    expect(resultOf(await send(version))).toMatchObject({ isError: true })
  }
  expect(await released("8.0.0")).toBe(0)
})

it("lets nobody in whom it does not know", async () => {
  expect((await send("6.0.0", { token: "token-of-mallory" })).status).toBe(401)
})
