import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest"
import { type EventStream, readEvents } from "../support/event-stream.ts"
import { type Call, call, encode, resultOf } from "../support/mcp.ts"
import { startWorker } from "../support/workerd.ts"
import { PUBLIC_URL, type Replicated, startReplicated } from "./replicated.ts"

/** What was told to others by now would be here by then. */
const GRACE_MS = 200

const URI = "waxseal://created"
const CREATED = { resourceSubscriptions: [URI] }

let stage: Replicated
let token: string

beforeAll(async () => {
  stage = await startReplicated()
  token = stage.token
})

const open: EventStream[] = []

afterEach(async () => {
  for (const stream of open.splice(0)) await stream.leave()
})

afterAll(() => stage.end())

function encodeListen(notifications: unknown, options: Partial<Call>) {
  const { headers, body } = encode({ token, method: "subscriptions/listen", ...options })
  const message = JSON.parse(body)
  message.params.notifications = notifications
  return { method: "POST", headers, body: JSON.stringify(message) }
}

function post(replica: number, notifications: unknown, options: Partial<Call> = {}): Promise<Response> {
  return fetch(stage.endpoint(replica), encodeListen(notifications, options))
}

/** Listens, and gives what resets the connection, which the runtime notices at once. */
async function listenBriefly(asToken: string): Promise<() => void> {
  const { body, ...options } = encodeListen(CREATED, { token: asToken })
  const sent = request(stage.endpoint(0), options).end(body)
  const [response]: IncomingMessage[] = await once(sent, "response")
  expect(response?.statusCode).toBe(200)
  response?.on("error", () => {}).resume()
  return () => response?.socket.resetAndDestroy()
}

/** Listens, and resolves when that is acknowledged. */
async function listen(replica: number, notifications: unknown = CREATED, options: Partial<Call> = {}) {
  const stream = readEvents(await post(replica, notifications, options))
  open.push(stream)
  await vi.waitFor(() => expect(stream.messages).not.toEqual([]))
  return stream
}

const methods = ({ messages }: EventStream) => messages.map(({ method }) => method)

it("what one replica creates is told at both, to whoever subscribed to it", async () => {
  const here = await listen(0, CREATED, { id: "here" })
  const there = await listen(1, CREATED, { id: 7 })
  const others = await listen(1, { resourceSubscriptions: ["waxseal://other"] })
  await stage.create(0, "told")
  for (const [stream, id] of [[here, "here"] as const, [there, 7] as const]) {
    await vi.waitFor(() => expect(stream.messages).toHaveLength(2))
    const _meta = { "io.modelcontextprotocol/subscriptionId": id }
    expect(stream.messages).toMatchObject([
      { method: "notifications/subscriptions/acknowledged", params: { notifications: CREATED, _meta } },
      { method: "notifications/resources/updated", params: { uri: URI, _meta } },
    ])
  }
  expect(methods(others)).toHaveLength(1)
})

it("a project is told of like a database, and a refused or declined one is not", async () => {
  const worker = await startWorker({
    bindings: { ...stage.identity.bindings, PUBLIC_URL, PRICES: '{"acme":10}', BUDGETS: '{"acme":10}' },
    storage: join(stage.storage, "projects"),
  })
  const stream = readEvents(await fetch(`${worker.url}/mcp`, encodeListen(CREATED, {})))
  const approve = async (name: string, approved: boolean) => {
    const first = { token, method: "tools/call", name: "create_project", arguments: { name, account: "acme" } }
    const { requestState = "" } = resultOf(await call(`${worker.url}/mcp`, first))
    const inputResponses = { approval: { action: "accept", content: { approved } } }
    return resultOf(await call(`${worker.url}/mcp`, { ...first, requestState, inputResponses })).structuredContent
  }
  expect(await approve("unwanted", false)).toMatchObject({ status: "declined" })
  expect(await approve("wanted", true)).toMatchObject({ status: "completed" })
  await vi.waitFor(() => expect(stream.messages).toHaveLength(2))
  expect(await approve("beyond", true)).toMatchObject({ status: "failed" })
  expect(methods(stream)).toEqual(["notifications/subscriptions/acknowledged", "notifications/resources/updated"])
  await worker.kill()
})

it("no tenant hears of another's", async () => {
  const neighbour = await stage.tokenOf({ tenant: "neighbour" })
  const [here, there] = [await listen(0), await listen(0, CREATED, { token: neighbour })]
  await stage.create(0, "private")
  await vi.waitFor(() => expect(here.messages).toHaveLength(2))
  await stage.create(1, "its own", neighbour)
  await vi.waitFor(() => expect(there.messages.length).toBeGreaterThan(1))
  await sleep(GRACE_MS)
  expect([here.messages.length, there.messages.length]).toEqual([2, 2])
})

it("the official client listens, hears, and reads what is new", async () => {
  const client = new Client(
    { name: "waxseal-test", version: "1.0.0" },
    { capabilities: {}, versionNegotiation: { mode: "auto" } },
  )
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(stage.endpoint(0)), { requestInit }))
  expect(client.getServerCapabilities()?.resources).toEqual({ listChanged: false, subscribe: true })
  const heard: string[] = []
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => void heard.push(params.uri))
  const subscription = await client.listen({ ...CREATED, toolsListChanged: true })
  expect(subscription.honoredFilter).toEqual(CREATED)
  await stage.create(1, "read again")
  await vi.waitFor(() => expect(heard).toEqual([URI]))
  expect(JSON.stringify(await client.readResource({ uri: URI }))).toContain("read again")
  await subscription.close()
  expect(await subscription.closed).toBe("local")
  await client.close()
})

it("a stream ends with the token that opened it, in good order", async () => {
  const brief = await stage.tokenOf({ ttl: 2 })
  const begun = Date.now()
  const stream = await listen(0, CREATED, { token: brief, id: "brief" })
  await stream.ended
  expect(Date.now() - begun).toBeLessThan(3_000)
  expect(stream.messages.at(-1)).toMatchObject({ id: "brief", result: { resultType: "complete" } })
  const heard = stream.messages.length
  await stage.create(0, "after the end")
  expect(stream.messages).toHaveLength(heard)
})

it("what nobody announces is not honoured, and the stream ends at once", async () => {
  const stream = await listen(0, { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true })
  await stream.ended
  expect(stream.messages).toMatchObject([
    { method: "notifications/subscriptions/acknowledged", params: { notifications: {} } },
    { result: { resultType: "complete" } },
  ])
})

it.each([
  ["without a token", { token: undefined }, 401],
  ["with a token for another resource", { audience: `${PUBLIC_URL}/v1` }, 401],
  ["without the scope", { scope: "projects:create" }, 403],
] as const)("nobody listens %s", async (_, options, status) => {
  const other = "token" in options ? undefined : await stage.tokenOf(options)
  const { headers, body } = encode({ method: "subscriptions/listen", ...(other !== undefined && { token: other }) })
  expect((await fetch(stage.endpoint(0), { method: "POST", headers, body })).status).toBe(status)
})

it.each([
  ["65 resources", { resourceSubscriptions: Array.from({ length: 65 }, (_, index) => `test://${index}`) }],
  ["resources of 4,097 bytes", { resourceSubscriptions: ["é".repeat(2_048), "x"] }],
  ["no URI", { resourceSubscriptions: ["waxseal://created", "not \u0001 one"] }],
  ["no list", { resourceSubscriptions: "waxseal://created" }],
  ["nothing that is a filter", "all"],
])("a listener that names %s is told what is wrong", async (_, notifications) => {
  const response = await post(0, notifications, { id: "large" })
  expect(response.status).toBe(400)
  const body = await response.json()
  expect(body).toMatchObject({ id: "large", error: { code: -32_602 } })
  expect(JSON.stringify(body)).toMatch(/Invalid params\.notifications/)
})

it("a principal listens 32 times and no more, at all replicas together; whoever leaves makes room", async () => {
  const bob = await stage.tokenOf({ principal: "bob" })
  const leave = await listenBriefly(bob)
  await Promise.all(Array.from({ length: 31 }, (_, index) => listen(index % 2, CREATED, { token: bob })))
  const refused = await post(1, CREATED, { token: bob, id: "one more" })
  expect(refused.status).toBe(429)
  expect(await refused.json()).toMatchObject({ id: "one more", error: { message: /too often/ } })
  await listen(1, CREATED, { token: await stage.tokenOf({ principal: "carol" }) })
  leave()
  await vi.waitFor(() => listen(1, CREATED, { token: bob }), { timeout: 5_000 })
})

it("a 2025-era request for it is answered as one, and holds no stream", async () => {
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "subscriptions/listen",
    params: { notifications: CREATED },
  })
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" }
  const response = await fetch(stage.endpoint(0), {
    method: "POST",
    headers: { ...headers, authorization: `Bearer ${token}` },
    body,
  })
  expect(await response.text()).toContain("-32601")
})
