// The whole demonstration, by every official client: the one before 2026-07-28, and the new one in both of its modes.
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as current from "@modelcontextprotocol/client"
import { Client as EarlierClient } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport as EarlierTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeIdentity } from "../support/identity.ts"
import { type Running, startWorker } from "../support/workerd.ts"
import { type ModelServer, startModelServer } from "./systems/model-server.ts"

type Content = Record<string, string | number | boolean | string[]>
type Answer = { action: "accept"; content: Content } | { action: "decline" }

/** What the demonstration needs of a client. */
interface Speaker {
  /** Absent where the client has no session. */
  readonly session: () => string | undefined
  readonly tool: (name: string, args: Record<string, unknown>) => Promise<unknown>
  readonly prompt: (name: string) => Promise<unknown>
  readonly resource: (uri: string) => Promise<unknown>
  readonly lists: () => Promise<unknown>
  readonly close: () => Promise<void>
}

type Connect = (url: string, token: string, person: (message: string) => Answer) => Promise<Speaker>

const INFO = { name: "waxseal-test", version: "1.0.0" }
const CAPABILITIES = { elicitation: { form: {} } }

/** What both generations of the official client have. */
interface Client {
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>
  getPrompt(call: { name: string; arguments: Record<string, string> }): Promise<unknown>
  readResource(call: { uri: string }): Promise<unknown>
  listTools(): Promise<unknown>
  listPrompts(): Promise<unknown>
  listResources(): Promise<unknown>
  listResourceTemplates(): Promise<unknown>
  close(): Promise<void>
}

interface Transport {
  readonly sessionId?: string | undefined
  terminateSession(): Promise<void>
}

function speakerOf(client: Client, transport: Transport, hasSession: boolean): Speaker {
  return {
    session: () => transport.sessionId,
    tool: (name, args) => client.callTool({ name, arguments: args }),
    prompt: (name) => client.getPrompt({ name, arguments: {} }),
    resource: (uri) => client.readResource({ uri }),
    lists: async () => [
      await client.listTools(),
      await client.listPrompts(),
      await client.listResources(),
      await client.listResourceTemplates(),
    ],
    async close() {
      if (hasSession) await transport.terminateSession()
      await client.close()
    },
  }
}

const withEarlier: Connect = async (url, token, person) => {
  const client = new EarlierClient(INFO, { capabilities: CAPABILITIES })
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => person(params.message))
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  const transport = new EarlierTransport(new URL(url), { requestInit })
  await client.connect(transport)
  return speakerOf(client, transport, true)
}

const withCurrent =
  (mode: "auto" | "legacy"): Connect =>
  async (url, token, person) => {
    const client = new current.Client(INFO, { capabilities: CAPABILITIES, versionNegotiation: { mode } })
    client.setRequestHandler("elicitation/create", async ({ params }) => person(params.message))
    const requestInit = { headers: { authorization: `Bearer ${token}` } }
    const transport = new current.StreamableHTTPClientTransport(new URL(url), { requestInit })
    await client.connect(transport)
    return speakerOf(client, transport, mode === "legacy")
  }

/** What the person of the demonstration says, by what they are asked. */
function person(message: string): Answer {
  if (message.startsWith("In which region")) return { action: "accept", content: { region: "eu-west-1" } }
  if (message.includes('"refused"')) return { action: "decline" }
  if (message.startsWith("Create the project")) return { action: "accept", content: { approved: true } }
  if (message.startsWith("Show credentials")) return { action: "accept", content: { reveal: true } }
  if (message.startsWith("How shall the document")) {
    return { action: "accept", content: { processing_mode: "fast", language: "English", output_type: "one line" } }
  }
  return { action: "accept", content: { severity: "high", audience: "engineers" } }
}

let storage: string
let model: ModelServer
let worker: Running
let tokenOf: (tenant: string) => Promise<string>

beforeAll(async () => {
  const identity = await makeIdentity()
  storage = await mkdtemp(join(tmpdir(), "waxseal-"))
  model = await startModelServer()
  const settings = { ...model.settings, PRICES: '{"acme":40}', BUDGETS: '{"acme":100}' }
  worker = await startWorker({ bindings: { ...identity.bindings, ...settings }, storage })
  tokenOf = (tenant) => identity.token({ principal: "alice", tenant, audience: `${worker.url}/mcp` })
})

afterAll(async () => {
  await worker.stop()
  model.stop()
  await rm(storage, { recursive: true, force: true })
})

describe.each<[string, Connect, "a session" | "no session"]>([
  ["the official client 1.32", withEarlier, "a session"],
  ["the official client 2.4 in mode legacy", withCurrent("legacy"), "a session"],
  ["the official client 2.4 in mode auto", withCurrent("auto"), "no session"],
])("%s", (name, connect, expected) => {
  it(`runs the whole demonstration with ${expected}`, async () => {
    const speaker = await connect(`${worker.url}/mcp`, await tokenOf(name), person)
    expect(typeof speaker.session()).toBe(expected === "a session" ? "string" : "undefined")
    expect(JSON.stringify(await speaker.lists())).toMatch(/provision_database.*incident_report.*created.*connection/)

    const database = await speaker.tool("provision_database", { name: "orders" })
    expect(database).toMatchObject({ structuredContent: { status: "completed", database: { region: "eu-west-1" } } })
    const refused = await speaker.tool("create_project", { name: "refused", account: "acme" })
    expect(refused).toMatchObject({ structuredContent: { status: "declined", retryable: false } })
    const project = await speaker.tool("create_project", { name: "shop", account: "acme" })
    expect(project).toMatchObject({ structuredContent: { status: "completed", project: { monthlyCostUsd: 40 } } })
    const summary = await speaker.tool("summarize_document", { document: `Much, for ${name}.` })
    expect(summary).toMatchObject({ structuredContent: { status: "completed", summary: "In short." } })
    expect(model.timesAsked(`Much, for ${name}.`)).toBe(1)

    expect(JSON.stringify(await speaker.prompt("incident_report"))).toContain("high severity for engineers")
    const shown = await speaker.resource("waxseal://databases/orders/connection")
    expect(JSON.stringify(shown)).toContain("postgres://waxseal:")

    const created = { databases: [{ name: "orders" }], projects: [{ name: "shop" }] }
    expect(await speaker.tool("list_created", {})).toMatchObject({ structuredContent: created })
    await speaker.close()
  })
})
