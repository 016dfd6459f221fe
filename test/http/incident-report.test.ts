import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { afterAll, beforeAll, expect, it } from "vitest"
import { makeIdentity } from "../support/identity.ts"
import { type Call, call, errorOf, resultOf } from "../support/mcp.ts"
import { type Running, startWorker } from "../support/workerd.ts"

let storage: string
let worker: Running
let token: string

beforeAll(async () => {
  const identity = await makeIdentity()
  storage = await mkdtemp(join(tmpdir(), "waxseal-"))
  worker = await startWorker({ bindings: identity.bindings, storage })
  token = await identity.token({ principal: "alice", audience: `${worker.url}/mcp` })
})

afterAll(async () => {
  await worker.stop()
  await rm(storage, { recursive: true, force: true })
})

const FRAME = { severity: "high", audience: "customers" }

function get(options: Partial<Call> = {}) {
  return call(`${worker.url}/mcp`, { token, method: "prompts/get", name: "incident_report", ...options })
}

it("asks how severe and for whom, and makes the prompt", async () => {
  const client = new Client(
    { name: "waxseal-test", version: "1.0.0" },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: "auto" } },
  )
  client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: FRAME }))
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${worker.url}/mcp`), { requestInit }))
  const { prompts } = await client.listPrompts()
  expect(prompts.map(({ name }) => name)).toEqual(["incident_report"])
  const { messages } = await client.getPrompt({
    name: "incident_report",
    arguments: { incident: "The disk was full." },
  })
  const [message] = messages
  expect(message?.content).toMatchObject({
    type: "text",
    text: "Write an incident report of high severity for customers about this incident: The disk was full.",
  })
  await client.close()
})

it("works without arguments, on both legs, and binds their absence", async () => {
  const { requestState: state = "" } = resultOf(await get())
  const answered = { requestState: state, inputResponses: { frame: { action: "accept", content: FRAME } } }
  expect(JSON.stringify((await get(answered)).body)).toContain("that we have just discussed")
  const changed = await get({ ...answered, arguments: { incident: "Another one." } })
  expect(errorOf(changed).code).toBe(-32602)
})

it("passes on a person's no as an error of its own", async () => {
  for (const action of ["decline", "cancel"]) {
    const { requestState = "" } = resultOf(await get())
    const refused = errorOf(await get({ requestState, inputResponses: { frame: { action } } }))
    expect(refused).toMatchObject({ code: 1001, data: { retryable: false } })
  }
})

it("takes no state of another request", async () => {
  const asked = await call(`${worker.url}/mcp`, {
    token,
    method: "tools/call",
    name: "provision_database",
    arguments: { name: "x" },
  })
  const { requestState = "" } = resultOf(asked)
  expect(errorOf(await get({ requestState })).code).toBe(-32602)
})
