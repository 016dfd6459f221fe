import { mkdtemp, rm } from "node:fs/promises"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { z } from "zod"
import { makeIdentity, type TestIdentity } from "../support/identity.ts"
import { type Call, call, errorOf, resultOf } from "../support/mcp.ts"
import { type Running, startWorker } from "../support/workerd.ts"

const MODELS = { fast: "model-f", balanced: "model-b", high_quality: "model-h" }
const KEY = "llm-key-that-is-secret"
const DOCUMENT = "A long document about wax."

const Asked = z.object({
  model: z.string(),
  max_completion_tokens: z.number(),
  messages: z.array(z.object({ role: z.string(), content: z.string() })),
})
type Asked = z.infer<typeof Asked>

type Respond = (asked: Asked, response: ServerResponse) => void

let provider: Server
let asked: Asked[]
let traces: Pick<IncomingMessage["headers"], "traceparent" | "baggage">[]
let respond: Respond
let identity: TestIdentity
let storage: string
let worker: Running
let alice: string

beforeAll(async () => {
  provider = createServer(async (request, response) => {
    expect(request.headers.authorization).toBe(`Bearer ${KEY}`)
    const body = Asked.parse(JSON.parse(await textOf(request)))
    asked.push(body)
    const { traceparent, baggage } = request.headers
    traces.push({ traceparent, baggage })
    respond(body, response)
  }).listen(0, "127.0.0.1")
  await new Promise((resolve) => provider.once("listening", resolve))
  const { port } = provider.address() as AddressInfo
  identity = await makeIdentity()
  storage = await mkdtemp(join(tmpdir(), "waxseal-"))
  const llm = { LLM_BASE_URL: `http://127.0.0.1:${port}/v1`, LLM_API_KEY: KEY, LLM_MODELS: JSON.stringify(MODELS) }
  worker = await startWorker({ bindings: { ...identity.bindings, ...llm }, storage })
  alice = await identity.token({ principal: "alice", audience: `${worker.url}/mcp` })
})

afterAll(async () => {
  await worker.stop()
  provider.closeAllConnections()
  provider.close()
  await rm(storage, { recursive: true, force: true })
})

beforeEach(() => {
  asked = []
  traces = []
  respond = answer
})

const answer: Respond = ({ model }, response) => {
  const choices = [
    { index: 0, finish_reason: "stop", message: { role: "assistant", content: `Summary by ${model[6]}.` } },
  ]
  response
    .setHeader("content-type", "application/json")
    .end(JSON.stringify({ id: "1", object: "chat.completion", choices }))
}

const fail =
  (status: number): Respond =>
  (_asked, response) =>
    response
      .writeHead(status, { "content-type": "application/json" })
      .end('{"error":{"message":"secret of the provider"}}')

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ""
  for await (const chunk of request) text += chunk
  return text
}

function send(options: Partial<Call> = {}) {
  const summarise = { method: "tools/call", name: "summarize_document", arguments: { document: DOCUMENT } }
  return call(`${worker.url}/mcp`, { token: alice, ...summarise, ...options })
}

async function ask(): Promise<string> {
  return resultOf(await send()).requestState ?? ""
}

const preferences = (processing_mode: string) => ({
  preferences: { action: "accept", content: { processing_mode, language: "French", output_type: "bullet points" } },
})

async function summarise(mode: string, state?: string) {
  const leg = { requestState: state ?? (await ask()), inputResponses: preferences(mode) }
  const { isError = false, structuredContent, content } = resultOf(await send(leg))
  return { isError, text: JSON.stringify(content), ...structuredContent }
}

it("asks everything in one form, and no model before that", async () => {
  const { inputRequests } = resultOf(await send())
  expect(inputRequests).toMatchObject({
    preferences: {
      params: {
        requestedSchema: {
          properties: {
            processing_mode: { enum: ["fast", "balanced", "high_quality"] },
            language: { type: "string" },
            output_type: { type: "string" },
          },
          required: ["processing_mode", "language", "output_type"],
        },
      },
    },
  })
  const incomplete = { preferences: { action: "accept", content: { processing_mode: "fast", language: "French" } } }
  const again = resultOf(await send({ requestState: await ask(), inputResponses: incomplete }))
  expect(again.resultType).toBe("input_required")
  expect(asked).toEqual([])
})

it.each(Object.entries(MODELS))("sends the mode %s to its model, once, and never shows it", async (mode, model) => {
  const state = await ask()
  const first = await summarise(mode, state)
  expect(first).toMatchObject({ isError: false, status: "completed", summary: `Summary by ${model[6]}.` })
  expect(await summarise(mode, state)).toEqual(first)
  expect(asked).toHaveLength(1)
  expect(asked[0]).toMatchObject({ model, max_completion_tokens: 1_000 })
  expect(asked[0]?.messages[0]?.content).toContain("French")
  expect(asked[0]?.messages[1]).toEqual({ role: "user", content: DOCUMENT })
  expect(JSON.stringify(first)).not.toContain(model)
})

it("calls no model on a decline", async () => {
  const leg = { requestState: await ask(), inputResponses: { preferences: { action: "decline" } } }
  expect(resultOf(await send(leg)).structuredContent).toMatchObject({ status: "declined" })
  expect(asked).toEqual([])
})

it("refuses another's state and changed arguments", async () => {
  const leg = { requestState: await ask(), inputResponses: preferences("fast") }
  const mallory = await identity.token({ principal: "mallory", audience: `${worker.url}/mcp` })
  expect(errorOf(await send({ ...leg, token: mallory })).code).toBe(-32602)
  expect(errorOf(await send({ ...leg, arguments: { document: "Another." } })).code).toBe(-32602)
  expect(asked).toEqual([])
})

describe("a provider that fails", () => {
  it.each([429, 500, 503])("with %i is tried once more", async (status) => {
    let failures = 1
    respond = (body, response) => (failures-- > 0 ? fail(status)(body, response) : answer(body, response))
    expect(await summarise("fast")).toMatchObject({ status: "completed" })
    expect(asked.map(({ model }) => model)).toEqual(["model-f", "model-f"])
  })

  it("again and again is replaced by the fallback model", async () => {
    respond = (body, response) => (body.model === "model-h" ? fail(500)(body, response) : answer(body, response))
    expect(await summarise("high_quality")).toMatchObject({ status: "completed", summary: "Summary by b." })
    expect(asked.map(({ model }) => model)).toEqual(["model-h", "model-h", "model-b"])
  })

  it.each([
    ["for good", fail(500), 4],
    ["because of the request", fail(400), 2],
    ["because of the key", fail(401), 1],
    [
      "by an empty answer",
      ((_asked, response) => response.setHeader("content-type", "application/json").end('{"choices":[]}')) as Respond,
      2,
    ],
    ["by nonsense", ((_asked, response) => response.end("<html>")) as Respond, 2],
  ])("%s is a tool error without its words, and may be tried again", async (_what, failing, tries) => {
    respond = failing
    const state = await ask()
    const failed = await summarise("balanced", state)
    expect(failed).toMatchObject({ isError: true, status: "failed", retryable: true })
    expect(JSON.stringify(failed)).not.toMatch(/secret|model-/)
    expect(asked).toHaveLength(tries)
    respond = answer
    expect(await summarise("balanced", state)).toMatchObject({ status: "completed" })
  })

  it("by silence is given up within the lease", async () => {
    respond = () => {}
    const started = Date.now()
    expect(await summarise("fast")).toMatchObject({ isError: true, status: "failed", retryable: true })
    expect(Date.now() - started).toBeLessThan(25_000)
  })
})

it("is listed where a model is configured, and nowhere else", async () => {
  const names = async (url: string, token: string) =>
    JSON.stringify((await call(`${url}/mcp`, { token, method: "tools/list" })).body)
  expect(await names(worker.url, alice)).toContain("summarize_document")
  const without = await startWorker({ bindings: identity.bindings, storage: join(storage, "without") })
  const token = await identity.token({ principal: "alice", audience: `${without.url}/mcp` })
  expect(await names(without.url, token)).not.toContain("summarize_document")
  const summarise = { token, method: "tools/call", name: "summarize_document", arguments: { document: DOCUMENT } }
  expect(errorOf(await call(`${without.url}/mcp`, summarise)).code).toBe(-32602)
  await without.stop()
})

it.each([
  ["passes a trace on", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true],
  ["ignores a version that is none", "ff-4bf92f3577b34da6a3ce929d0e0e4737-00f067aa0ba902b7-01", false],
  ["ignores one that is none", `00-${"0".repeat(32)}-00f067aa0ba902b7-01`, false],
])("%s, and drops its baggage", async (_what, traceparent, goesOn) => {
  const meta = { traceparent, baggage: "user=alice" }
  const { requestState = "" } = resultOf(await send({ meta }))
  await send({ requestState, inputResponses: preferences("fast"), meta })
  expect(traces).toEqual([{ traceparent: goesOn ? traceparent : undefined, baggage: undefined }])
  expect(worker.logs().includes(`"trace":"${traceparent.split("-")[1]}"`)).toBe(goesOn)
  expect(worker.logs()).not.toContain("user=alice")
})

it("logs neither document, summary, key nor model", async () => {
  await summarise("fast")
  for (const secret of [DOCUMENT, "Summary by", KEY, "model-", "French"]) expect(worker.logs()).not.toContain(secret)
})
