import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { makeIdentity } from "../support/identity.ts"
import { type Call, call, resultOf } from "../support/mcp.ts"
import { type Running, startWorker } from "../support/workerd.ts"

const PUBLIC_URL = "https://waxseal.example"

let bindings: Record<string, string>
let storage: string
let worker: Running
let token: string

beforeAll(async () => {
  const identity = await makeIdentity()
  bindings = { ...identity.bindings, PUBLIC_URL }
  storage = await mkdtemp(join(tmpdir(), "waxseal-"))
  await start()
  token = await identity.token({ principal: "alice", audience: `${PUBLIC_URL}/mcp` })
})

afterAll(async () => {
  await worker.stop()
  await rm(storage, { recursive: true, force: true })
})

async function start(): Promise<void> {
  worker = await startWorker({ bindings, storage, replicas: ["other"] })
}

async function send(replica: number, leg: Partial<Call>) {
  const url = worker.urls[replica]
  return resultOf(await call(`${url}/mcp`, { token, method: "tools/call", ...leg }))
}

async function ask(replica: number, name: string): Promise<Partial<Call>> {
  const first = { name: "provision_database", arguments: { name } }
  const { requestState } = await send(replica, first)
  return { ...first, requestState: requestState ?? "" }
}

const accept = (region: string) => ({ inputResponses: { region: { action: "accept", content: { region } } } })
const decline = { inputResponses: { region: { action: "decline" } } }

async function outcome(replica: number, leg: Partial<Call>) {
  return (await send(replica, leg)).structuredContent
}

async function timesCreated(replica: number, name: string): Promise<number> {
  const { structuredContent } = await send(replica, { name: "list_created", arguments: {} })
  return JSON.stringify(structuredContent).split(JSON.stringify(name)).length - 1
}

it("are two Workers, each at an address of its own", () => {
  expect(new Set(worker.urls).size).toBe(2)
})

it.each([
  [0, 1],
  [1, 0],
])("what replica %d asked, replica %d finishes, and both give the recorded result", async (asks, finishes) => {
  const leg = { ...(await ask(asks, `from ${asks}`)), ...accept("eu-west-1") }
  const completed = await outcome(finishes, leg)
  expect(completed).toMatchObject({ status: "completed", database: { name: `from ${asks}`, region: "eu-west-1" } })
  expect(await outcome(asks, leg)).toEqual(completed)
  expect(await outcome(finishes, leg)).toEqual(completed)
})

it("a no at one replica is final at the other", async () => {
  const leg = await ask(0, "unwanted")
  expect(await outcome(1, { ...leg, ...decline })).toMatchObject({ status: "declined" })
  expect(await outcome(0, { ...leg, ...accept("eu-west-1") })).toMatchObject({
    status: "already_used",
    recorded: "declined",
  })
})

it("twenty answers that race at both replicas create one database", async () => {
  const leg = await ask(0, "wanted")
  const racers = Array.from({ length: 20 }, (_, index) =>
    outcome(index % 2, { ...leg, ...accept(index % 4 < 2 ? "eu-west-1" : "us-east-1") }),
  )
  const outcomes = await Promise.all(racers)
  const databases = outcomes.flatMap((one) =>
    one?.["status"] === "completed" ? [JSON.stringify(one["database"])] : [],
  )
  expect(new Set(databases).size).toBe(1)
  expect(await timesCreated(1, "wanted")).toBe(1)
})

it("an operation goes on at either replica after a crash of both", async () => {
  const leg = { ...(await ask(0, "survivor")), ...accept("us-east-1") }
  const completed = await outcome(1, leg)
  const unanswered = { ...(await ask(1, "late")), ...accept("eu-west-1") }
  await worker.kill()
  await start()
  expect(await outcome(0, leg)).toEqual(completed)
  expect(await outcome(0, unanswered)).toMatchObject({ status: "completed" })
})
