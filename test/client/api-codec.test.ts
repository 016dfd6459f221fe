// The codec over the API, in the official SDK: what people and models are told when the API will not do its part.
import { createMcpHandler, inputRequired, McpServer } from "@modelcontextprotocol/server"
import { expect, it } from "vitest"
import { z } from "zod"
import { createApiCodec } from "../../src/client/codec.ts"
import { createClient } from "../../src/client/index.ts"
import { stage } from "../api/stage.ts"
import { encode, resultOf } from "../support/mcp.ts"

const { call } = stage()

type Fetch = (url: string, init: RequestInit) => Promise<Response>

const toTheApi: Fetch = async (url, { body }) => {
  const path = new URL(url).pathname.replace("/v1", "")
  const answer = await call(path, typeof body === "string" ? JSON.parse(body) : undefined)
  return Response.json(answer.body, { status: answer.status, headers: answer.headers })
}

/** What refuses does so for longer than any call may take. */
const FOR_LONG = { "retry-after": "600" }

const refusing =
  (path: string, status: number, code: string): Fetch =>
  (url, init) =>
    url.endsWith(path)
      ? Promise.resolve(
          Response.json({ code, detail: "It lacks the scope state:redeem." }, { status, headers: FOR_LONG }),
        )
      : toTheApi(url, init)

const ANSWERED = { inputResponses: { approval: { action: "accept", content: {} } } }

/** A server that asks, and acts once when it is answered; and the causes of what it could not do. */
function serverWith(fetch: Fetch, token = "token") {
  const client = createClient({ url: "https://waxseal.test", token, fetch })
  const codec = createApiCodec({ client, principal: () => "alice", parse: z.number().parse, maxRounds: 1 })
  const causes: unknown[] = []
  const remember = (error: Error) => {
    causes.push(error.cause)
    throw error
  }
  const act = codec.once(async () => ({ content: [{ type: "text" as const, text: "done" }] }))
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "t", version: "1" }, { requestState: { verify: codec.verify } })
    server.registerTool("ask", { description: "Asks.", inputSchema: z.object({}) }, async (args, context) => {
      if (context.mcpReq.inputResponses) return act(args, context).catch(remember)
      const requestState = await codec.mint(1, context).catch(remember)
      const requestedSchema = { type: "object", properties: {} } as const
      const approval = inputRequired.elicit({ message: "Shall I?", requestedSchema })
      return inputRequired({ inputRequests: { approval }, requestState })
    })
    return server
  })
  const send = async (leg: object = {}) => {
    const { headers, body } = encode({ method: "tools/call", name: "ask", arguments: {}, ...leg })
    const request = new Request("https://t.test/mcp", { method: "POST", headers, body })
    const response = await codec.serve(handler, request, { parsedBody: JSON.parse(body) })
    return resultOf({ status: response.status, headers: response.headers, body: await response.json() })
  }
  return { send, causes }
}

const UNUSABLE = { isError: true, content: [{ text: "The state service cannot be used now; try again later." }] }
const UNSEALABLE = {
  isError: true,
  content: [{ text: "This call cannot be asked about: its arguments or its state cannot be sealed." }],
}

it("asks and acts once", async () => {
  const { send } = serverWith(toTheApi)
  const { requestState } = await send()
  expect(await send({ ...ANSWERED, requestState })).toMatchObject({ content: [{ text: "done" }] })
  expect(await send({ ...ANSWERED, requestState })).toMatchObject({ structuredContent: { status: "already_used" } })
})

it("says itself that no rounds are left", async () => {
  const { send } = serverWith(toTheApi)
  const { requestState } = await send()
  const said = { isError: true, content: [{ text: "No rounds are left; call again without state." }] }
  expect(await send({ requestState })).toMatchObject(said)
})

it.each<[string, number]>([
  ["insufficient_scope", 403],
  ["invalid_token", 401],
  ["internal", 500],
  ["misconfigured", 503],
  ["surprise", 418],
])("tells nobody but its server of %s", async (code, status) => {
  const asking = serverWith(refusing("/seal", status, code))
  expect(await asking.send()).toMatchObject(UNUSABLE)
  const acting = serverWith(refusing("/redeem", status, code))
  const { requestState } = await acting.send()
  expect(await acting.send({ ...ANSWERED, requestState })).toMatchObject(UNUSABLE)
  const said = { code: code === "surprise" ? "unexpected_answer" : code, status }
  expect([...asking.causes, ...acting.causes]).toMatchObject([said, said])
})

it.each<[string, number]>([
  ["invalid_body", 400],
  ["body_too_large", 413],
])("does not let anybody try again what the API will never seal: %s", async (code, status) => {
  const { send, causes } = serverWith(refusing("/seal", status, code))
  expect(await send()).toMatchObject(UNSEALABLE)
  expect(causes).toMatchObject([{ code, status }])
})

it("does not let anybody try again with arguments that are too large to be sent", async () => {
  const { send, causes } = serverWith(toTheApi)
  expect(await send({ arguments: { text: "x".repeat(2_097_152) } })).toMatchObject(UNSEALABLE)
  expect(causes).toMatchObject([{ code: "body_too_large", status: undefined }])
})

it("tells nobody but its server of a token that it has not", async () => {
  const { send, causes } = serverWith(toTheApi, "")
  expect(await send()).toMatchObject(UNUSABLE)
  expect(causes).toMatchObject([{ code: "unusable_token" }])
})
