import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { afterAll, beforeAll, expect, it } from "vitest"
import { makeIdentity } from "../support/identity.ts"
import { call, resultOf } from "../support/mcp.ts"
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

type Mode = "auto" | "legacy"
type Action = { action: "accept"; content: { region: string } } | { action: "decline" | "cancel" }

async function connect(mode: Mode, answer: Action): Promise<{ client: Client; asked: string[] }> {
  const client = new Client(
    { name: "waxseal-test", version: "1.0.0" },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
  )
  const asked: string[] = []
  client.setRequestHandler("elicitation/create", async ({ params }) => {
    asked.push(params.message)
    return answer
  })
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${worker.url}/mcp`), { requestInit }))
  return { client, asked }
}

it("a client of revision 2026-07-28 asks its person and gets one database", async () => {
  const { client, asked } = await connect("auto", { action: "accept", content: { region: "eu-west-1" } })
  expect(client.getProtocolEra()).toBe("modern")
  const result = await client.callTool({ name: "provision_database", arguments: { name: "orders" } })
  expect(asked).toEqual(['In which region shall the database "orders" be created?'])
  expect(result.structuredContent).toMatchObject({
    status: "completed",
    database: { name: "orders", region: "eu-west-1" },
  })
  const listed = await client.callTool({ name: "list_created", arguments: {} })
  expect(listed.structuredContent).toMatchObject({ databases: [{ name: "orders", region: "eu-west-1" }] })
  await client.close()
})

it("a client of revision 2026-07-28 passes on its person's no", async () => {
  const { client } = await connect("auto", { action: "decline" })
  const result = await client.callTool({ name: "provision_database", arguments: { name: "declined" } })
  expect(result.structuredContent).toMatchObject({ status: "declined", retryable: false })
  expect(result.isError).toBeFalsy()
  await client.close()
})

it("a request of revision 2025-11-25 that brings state is refused: no state belongs to it", async () => {
  const url = `${worker.url}/mcp`
  const provision = { token, method: "tools/call", name: "provision_database", arguments: { name: "smuggled" } }
  const { requestState } = resultOf(await call(url, provision))
  const params = {
    name: provision.name,
    arguments: provision.arguments,
    requestState,
    inputResponses: { region: { action: "accept", content: { region: "eu-west-1" } } },
  }
  const response = await fetch(url, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-11-25",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  })
  expect(await response.text()).not.toContain('"status":"completed"')
  const list = await call(url, { token, method: "tools/call", name: "list_created", arguments: {} })
  expect(JSON.stringify(list.body)).not.toContain("smuggled")
})
