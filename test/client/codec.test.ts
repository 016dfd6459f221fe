// The codec with a key ring of one's own, in the official SDK, in the Workers runtime.
import {
  createMcpHandler,
  inputRequired,
  McpServer,
  type McpServerFactory,
  type ServerContext,
} from "@modelcontextprotocol/server"
import { beforeEach, describe, expect, it } from "vitest"
import { z } from "zod"
import { type CodecOptions, createLocalCodec } from "../../src/client/codec.ts"
import { bytesToBase64Url } from "../../src/seal/index.ts"
import { encode, errorOf, resultOf } from "../support/mcp.ts"

const Pending = z.object({ cost: z.number() })
type Pending = z.infer<typeof Pending>

function ringOf(suite: 1 | 2): string {
  const key = bytesToBase64Url(crypto.getRandomValues(new Uint8Array(32)))
  return JSON.stringify([{ key, suite, sealsFrom: "2026-01-01T00:00:00Z" }])
}

/** A server with tools that ask until they are told `done`, and what its hook said of what it refused. */
function serverWith(ring: string, changes: Partial<CodecOptions<Pending>> = {}) {
  const codec = createLocalCodec<Pending>({
    ring,
    principal: ({ http }) => http?.authInfo?.clientId,
    parse: Pending.parse,
    ...changes,
  })
  const refusals: string[] = []
  async function ask(_: unknown, context: ServerContext) {
    const state = context.mcpReq.requestState<Pending>()
    if (context.mcpReq.inputResponses)
      return { content: [{ type: "text" as const, text: JSON.stringify(state ?? null) }] }
    const cost = (state?.cost ?? 0) + 1
    const message = "Shall I?"
    const requestedSchema = { type: "object", properties: {} } as const
    return inputRequired({
      inputRequests: { approval: inputRequired.elicit({ message, requestedSchema }) },
      requestState: await codec.mint({ cost }, context),
    })
  }
  const createServer: McpServerFactory = () => {
    const server = new McpServer({ name: "t", version: "1" }, { requestState: { verify: codec.verify } })
    server.server.onerror = ({ message }) => refusals.push(message)
    const inputSchema = z.object({ name: z.string(), more: z.unknown().optional() })
    for (const name of ["ask", "other"]) server.registerTool(name, { description: "Asks.", inputSchema }, ask)
    server.registerPrompt("ask", { argsSchema: z.object({ name: z.string() }) }, async (_args, context) =>
      inputRequired({ requestState: await codec.mint({ cost: 1 }, context) }),
    )
    server.registerResource("r", "test://r", {}, async (uri, context) =>
      context.mcpReq.requestState() === undefined
        ? inputRequired({ requestState: await codec.mint({ cost: 7 }, context) })
        : { contents: [{ uri: uri.href, text: "read" }] },
    )
    return server
  }
  const handler = createMcpHandler(createServer)
  const send = async (call: object = {}, user = "alice", serve = codec.serve) => {
    const { headers, body } = encode({ method: "tools/call", name: "ask", arguments: { name: "orders" }, ...call })
    const request = new Request("https://t.test/mcp", { method: "POST", headers, body })
    const authInfo = { token: "", clientId: user, scopes: [] }
    const response = await serve(handler, request, { parsedBody: JSON.parse(body), authInfo })
    return { status: response.status, headers: response.headers, body: await response.json() }
  }
  async function stateOf(call?: object): Promise<string> {
    const { requestState, content } = resultOf(await send(call))
    if (requestState === undefined) throw new Error(`It asked nothing, and said ${JSON.stringify(content)}.`)
    return requestState
  }
  return { send, refusals, stateOf }
}

const ANSWERED = { inputResponses: { approval: { action: "accept", content: {} } } }
const REFUSED = { code: -32_602, message: "Invalid or expired requestState", data: { reason: "invalid_request_state" } }

describe.each([1, 2] as const)("with suite %s", (suite) => {
  let server: ReturnType<typeof serverWith>

  beforeEach(() => {
    server = serverWith(ringOf(suite))
  })

  it("hands the handler what it sealed, on the same call in any spelling", async () => {
    const requestState = await server.stateOf({ arguments: { name: "orders", more: { b: 1, a: "é" } } })
    const again = { ...ANSWERED, requestState, arguments: { more: { a: "\u00e9", b: 1.0 }, name: "orders" } }
    expect(resultOf(await server.send(again))).toMatchObject({ content: [{ text: '{"cost":1}' }] })
  })

  it("is opaque to the client", async () => {
    expect(await server.stateOf()).toMatch(/^[\w-]+$/)
    expect(atob((await server.stateOf()).replaceAll("-", "+").replaceAll("_", "/"))).not.toContain("cost")
  })

  it.each<[string, object, string?]>([
    ["other arguments", { arguments: { name: "others" } }],
    ["another tool", { name: "other" }],
    ["another method", { method: "prompts/get" }],
    ["another person", {}, "bob"],
  ])("refuses a state on %s", async (_, changes, user) => {
    const requestState = await server.stateOf()
    expect(errorOf(await server.send({ ...ANSWERED, requestState, ...changes }, user))).toEqual(REFUSED)
    const [refusal] = server.refusals
    expect(refusal).toMatch(/: (request|principal)$/)
    expect(refusal).not.toContain(requestState)
  })

  it("refuses what it never sealed", async () => {
    const requestState = await server.stateOf()
    const others = await serverWith(ringOf(suite)).stateOf()
    for (const forged of ["", "x", others, requestState.slice(0, -1), `${requestState}A`, `${requestState}=`]) {
      expect(errorOf(await server.send({ ...ANSWERED, requestState: forged }))).toEqual(REFUSED)
    }
  })

  it("counts rounds", async () => {
    const first = await server.stateOf()
    const second = await server.stateOf({ requestState: first })
    const third = await server.stateOf({ requestState: second })
    const last = resultOf(await server.send({ ...ANSWERED, requestState: third }))
    expect(last).toMatchObject({ content: [{ text: '{"cost":3}' }] })
    expect(resultOf(await server.send({ requestState: third }))).toMatchObject({
      isError: true,
      content: [{ text: "No rounds are left; call again without state." }],
    })
  })
})

it("lets states expire, and operations end", async () => {
  const ring = ringOf(1)
  const server = serverWith(ring, { ttlSeconds: 1, deadlineSeconds: 2 })
  const started = Date.now()
  const first = await server.stateOf()
  await new Promise((resolve) => setTimeout(resolve, 900))
  const second = await serverWith(ring, { ttlSeconds: 60 }).stateOf({ requestState: first })
  await new Promise((resolve) => setTimeout(resolve, started + 1_100 - Date.now()))
  expect(errorOf(await server.send({ ...ANSWERED, requestState: first }))).toEqual(REFUSED)
  expect(resultOf(await server.send({ ...ANSWERED, requestState: second })).isError).toBeFalsy()
  await new Promise((resolve) => setTimeout(resolve, started + 2_100 - Date.now()))
  expect(errorOf(await server.send({ ...ANSWERED, requestState: second }))).toEqual(REFUSED)
  expect(server.refusals).toEqual(Array(2).fill(expect.stringMatching(/: expired$/)))
})

it("takes prompts and resources", async () => {
  const server = serverWith(ringOf(1))
  const prompt = { method: "prompts/get", name: "ask" }
  const requestState = await server.stateOf(prompt)
  expect(await server.stateOf({ ...prompt, requestState })).not.toBe("")
  expect(errorOf(await server.send({ ...prompt, requestState, arguments: { name: "b" } }))).toEqual(REFUSED)
  const resource = { method: "resources/read", name: "test://r" }
  const read = await server.send({ ...resource, requestState: await server.stateOf(resource) })
  expect(resultOf(read)).toMatchObject({ contents: [{ text: "read" }] })
})

it("keeps servers with other audiences apart", async () => {
  const ring = ringOf(1)
  const requestState = await serverWith(ring, { audience: "billing" }).stateOf()
  for (const changes of [{}, { audience: "mail" }]) {
    expect(errorOf(await serverWith(ring, changes).send({ ...ANSWERED, requestState }))).toEqual(REFUSED)
  }
})

it("refuses a payload of another version of the server", async () => {
  const ring = ringOf(1)
  const requestState = await serverWith(ring).stateOf()
  const parse = z.object({ cost: z.number(), currency: z.string() }).parse
  expect(errorOf(await serverWith(ring, { parse }).send({ ...ANSWERED, requestState }))).toEqual(REFUSED)
})

describe("fails closed", () => {
  it("where nobody is known to have sent it", async () => {
    const ring = ringOf(1)
    const requestState = await serverWith(ring).stateOf()
    for (const principal of [() => undefined, () => ""]) {
      const server = serverWith(ring, { principal })
      expect(errorOf(await server.send({ ...ANSWERED, requestState }))).toEqual(REFUSED)
      expect(resultOf(await server.send())).toMatchObject({ isError: true })
    }
  })

  it("where the SDK's handler is called without the codec", async () => {
    const server = serverWith(ringOf(1))
    const requestState = await server.stateOf()
    const answer = await server.send({ ...ANSWERED, requestState }, "alice", (handler, request, options) =>
      handler.fetch(request, options),
    )
    expect(errorOf(answer)).toEqual(REFUSED)
  })

  it("where the ring is none, and quotes nothing of it", () => {
    expect(() => serverWith("[secret]")).toThrow("The key ring cannot be read: it is not JSON.")
  })
})
