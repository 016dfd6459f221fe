import { mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { makeIdentity, type TestIdentity } from "../support/identity.ts"
import { call, resultOf } from "../support/mcp.ts"
import { type Running, startWorker } from "../support/workerd.ts"

let identity: TestIdentity
let storage: string
let worker: Running

beforeAll(async () => {
  identity = await makeIdentity()
  storage = await mkdtemp(join(tmpdir(), "waxseal-"))
  worker = await startWorker({ bindings: identity.bindings, storage })
})

afterAll(async () => {
  await rm(storage, { recursive: true, force: true })
})

it("no token, state, answer, argument, principal or secret reaches a log or the ledger's files", async () => {
  const audience = `${worker.url}/mcp`
  const alice = await identity.token({ principal: "alice-the-principal", audience })
  const mallory = await identity.token({ principal: "mallory-the-principal", audience })
  const name = "name-of-the-database"
  const secrets = [alice, mallory, "the-principal", name, "ap-southeast-1"]
  const send = async (token: string, requestState?: string, inputResponses?: Record<string, unknown>) => {
    const options = { token, method: "tools/call", name: "provision_database", arguments: { name } }
    const answer = await call(audience, {
      ...options,
      ...(requestState !== undefined && { requestState }),
      ...(inputResponses && { inputResponses }),
    })
    const state = "result" in Object(answer.body) ? resultOf(answer).requestState : undefined
    if (state) secrets.push(state)
    return state ?? ""
  }
  const yes = { region: { action: "accept", content: { region: "ap-southeast-1" } } }
  const nonsense = { region: { action: "accept", content: { region: "answer-that-is-none" } } }
  secrets.push("answer-that-is-none")

  const state = await send(alice)
  await send(alice, state, nonsense)
  await send(mallory, state, yes)
  await send(alice, `${state.slice(0, -2)}AA`, yes)
  await send(`${alice}x`, state, yes)
  await send(alice, state, yes)
  await send(alice, state, yes)
  await send(alice, await send(alice), { region: { action: "decline" } })
  await fetch(audience, {
    method: "POST",
    headers: { authorization: `Bearer ${alice}` },
    body: '{"answer-that-is-none',
  })
  const [ring] = JSON.parse(identity.bindings.SEAL_KEYS)
  secrets.push(ring.key)
  await worker.stop()

  const logs = worker.logs()
  for (const event of ["round", "outcome", "state_refused"]) expect(logs).toContain(`"event":"${event}"`)
  for (const secret of secrets) expect(logs).not.toContain(secret)

  const files = await readdir(storage, { recursive: true, withFileTypes: true })
  const ledger = files.filter((file) => file.isFile() && file.parentPath.includes("Ledger"))
  expect(ledger.length).toBeGreaterThan(0)
  for (const file of ledger) {
    const bytes = await readFile(join(file.parentPath, file.name))
    for (const secret of secrets) expect(bytes.includes(secret)).toBe(false)
  }
})
