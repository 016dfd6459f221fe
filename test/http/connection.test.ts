import { mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { makeIdentity, type TestIdentity } from "../support/identity.ts"
import { type Call, call, errorOf, resultOf } from "../support/mcp.ts"
import { type Running, startWorker } from "../support/workerd.ts"

let identity: TestIdentity
let storage: string
let worker: Running
let alice: string

beforeAll(async () => {
  identity = await makeIdentity()
  storage = await mkdtemp(join(tmpdir(), "waxseal-"))
  worker = await startWorker({ bindings: identity.bindings, storage })
  alice = await identity.token({ principal: "alice", audience: `${worker.url}/mcp` })
  const provision = { method: "tools/call", name: "provision_database", arguments: { name: "orders" } }
  const { requestState = "" } = resultOf(await send(provision))
  const inputResponses = { region: { action: "accept", content: { region: "eu-west-1" } } }
  resultOf(await send({ ...provision, requestState, inputResponses }))
})

afterAll(async () => {
  await rm(storage, { recursive: true, force: true })
})

function send(options: Call) {
  return call(`${worker.url}/mcp`, { token: alice, ...options })
}

function read(name: string, options: Partial<Call> = {}) {
  return send({ method: "resources/read", name: `waxseal://databases/${name}/connection`, ...options })
}

async function ask(name: string): Promise<string> {
  return resultOf(await read(name)).requestState ?? ""
}

const consent = (reveal: boolean) => ({ consent: { action: "accept", content: { reveal } } })

it("asks before it shows, shows once, and keeps nothing", async () => {
  const asked = resultOf(await read("orders"))
  expect(asked.inputRequests).toMatchObject({
    consent: { params: { message: 'Show credentials of the database "orders" to this client?' } },
  })
  const leg = { requestState: asked.requestState ?? "", inputResponses: consent(true) }
  const shown = resultOf(await read("orders", leg))
  const text = String(shown.contents?.[0]?.["text"])
  expect(text).toMatch(/^postgres:\/\/waxseal:[\w-]{32}@eu-west-1\.db\.example\/orders$/)
  expect(shown).toMatchObject({ ttlMs: 0, cacheScope: "private" })
  expect(errorOf(await read("orders", leg))).toMatchObject({
    code: 1001,
    data: { status: "already_used", retryable: false },
  })
  await worker.stop()
  const password = text.slice("postgres://waxseal:".length, text.indexOf("@"))
  for (const file of await readdir(storage, { recursive: true, withFileTypes: true })) {
    if (file.isFile()) expect((await readFile(join(file.parentPath, file.name))).includes(password)).toBe(false)
  }
  expect(worker.logs()).not.toContain(password)
  worker = await startWorker({ bindings: identity.bindings, storage, port: worker.port })
})

it("shows nothing without consent, to another person, or for another database", async () => {
  const refusedByPerson = errorOf(
    await read("orders", { requestState: await ask("orders"), inputResponses: consent(false) }),
  )
  expect(refusedByPerson).toMatchObject({ code: 1001, data: { status: "declined" } })
  const leg = { requestState: await ask("orders"), inputResponses: consent(true) }
  expect(errorOf(await read("other", leg)).code).toBe(-32602)
  const mallory = await identity.token({ principal: "mallory", audience: `${worker.url}/mcp` })
  expect(errorOf(await read("orders", { ...leg, token: mallory })).code).toBe(-32602)
  expect(resultOf(await read("orders", { inputResponses: consent(true) })).resultType).toBe("input_required")
})

it("says so when there is no such database", async () => {
  const leg = { requestState: await ask("nothing"), inputResponses: consent(true) }
  expect(errorOf(await read("nothing", leg))).toMatchObject({
    code: 1001,
    data: { status: "failed", retryable: false },
  })
})

it("is listed as a template", async () => {
  const { body } = await send({ method: "resources/templates/list" })
  expect(JSON.stringify(body)).toContain("waxseal://databases/{name}/connection")
})

it("finds a database whose name a URI has to encode", async () => {
  const name = "my café/1"
  const provision = { method: "tools/call", name: "provision_database", arguments: { name } }
  const { requestState = "" } = resultOf(await send(provision))
  const inputResponses = { region: { action: "accept", content: { region: "eu-west-1" } } }
  resultOf(await send({ ...provision, requestState, inputResponses }))
  const encoded = encodeURIComponent(name)
  const leg = { requestState: await ask(encoded), inputResponses: consent(true) }
  expect(resultOf(await read(encoded, leg)).contents).toHaveLength(1)
})
