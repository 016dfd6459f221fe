import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js"
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest"
import { type EventStream, readEvents } from "../support/event-stream.ts"
import { startWorker } from "../support/workerd.ts"
import { PUBLIC_URL, type Replicated, startReplicated } from "./replicated.ts"

/** What was told to others by now would be here by then. */
const GRACE_MS = 200

const URI = "waxseal://created"
const UPDATED = { jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri: URI } }

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

interface Session {
  readonly asToken: string
  readonly headers: Readonly<Record<string, string>>
}

async function begin(asToken = token): Promise<Session> {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } }
  const response = await post(asToken, {}, { id: 0, method: "initialize", params })
  await response.text()
  const id = response.headers.get("mcp-session-id") ?? ""
  return { asToken, headers: { "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" } }
}

function post(
  asToken: string,
  more: Readonly<Record<string, string>>,
  message: object,
  replica = 0,
): Promise<Response> {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", ...more }
  const body = JSON.stringify({ jsonrpc: "2.0", ...message })
  return fetch(stage.endpoint(replica), {
    method: "POST",
    headers: { ...headers, authorization: `Bearer ${asToken}` },
    body,
  })
}

function get({ asToken, headers }: Session, replica = 0): Promise<Response> {
  const accept = { accept: "text/event-stream", authorization: `Bearer ${asToken}` }
  return fetch(stage.endpoint(replica), { headers: { ...headers, ...accept } })
}

async function stream(session: Session, replica = 0): Promise<EventStream> {
  const events = readEvents(await get(session, replica))
  open.push(events)
  return events
}

async function subscribe({ asToken, headers }: Session, uri = URI, method = "subscribe"): Promise<unknown> {
  return (await post(asToken, headers, { id: 1, method: `resources/${method}`, params: { uri } })).json()
}

const DONE = { jsonrpc: "2.0", id: 1, result: {} }

/** What was told before has been heard: a session that subscribed hears this. */
async function settle(name: string): Promise<void> {
  const witness = await begin(await stage.tokenOf({ principal: "witness" }))
  await subscribe(witness)
  const events = await stream(witness)
  await stage.create(1, name)
  await vi.waitFor(() => expect(events.messages).toHaveLength(1))
}

it("the old official client subscribes, hears, and reads what is new", async () => {
  const client = new Client({ name: "waxseal-test", version: "1.0.0" })
  const heard: string[] = []
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void heard.push(params.uri))
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(stage.endpoint(0)), { requestInit }))
  expect(client.getServerCapabilities()?.resources).toMatchObject({ subscribe: true })
  await client.subscribeResource({ uri: URI })
  let created = 0
  // Its stream opens in the background, and what is told before that is missed.
  await vi.waitFor(
    async () => {
      await stage.create(1, `by another ${created++}`)
      expect(heard.length).toBeGreaterThan(0)
    },
    { timeout: 10_000, interval: 200 },
  )
  expect(JSON.stringify(await client.readResource({ uri: URI }))).toContain("by another 0")
  await client.close()
})

it("a session hears of what it subscribed to, before its stream opened or after, and of nothing else", async () => {
  const [early, late, never, former] = await Promise.all([begin(), begin(), begin(), begin()])
  expect(await subscribe(early)).toEqual(DONE)
  const heard = [await stream(early, 1), await stream(late), await stream(never), await stream(former)]
  expect(await subscribe(late)).toEqual(DONE)
  await subscribe(never, "waxseal://other")
  await subscribe(former)
  expect(await subscribe(former, URI, "unsubscribe")).toEqual(DONE)
  await stage.create(1, "told in sessions")
  await settle("after it")
  await sleep(GRACE_MS)
  const both = [UPDATED, UPDATED]
  await vi.waitFor(() => expect(heard.map(({ messages }) => messages)).toEqual([both, both, [], []]))
})

it("a stream that opens again knows what the session subscribed to", async () => {
  const session = await begin()
  await subscribe(session)
  await (await stream(session)).leave()
  const again = await stream(session, 1)
  await stage.create(0, "told again")
  await vi.waitFor(() => expect(again.messages).toEqual([UPDATED]))
})

it("HEAD opens no stream, and ends none", async () => {
  const session = await begin()
  await subscribe(session)
  const events = await stream(session)
  const headers = { ...session.headers, accept: "text/event-stream", authorization: `Bearer ${token}` }
  for (let times = 0; times < 40; times++) {
    expect((await fetch(stage.endpoint(0), { method: "HEAD", headers })).status).toBe(405)
  }
  await stage.create(0, "after many a HEAD")
  await vi.waitFor(() => expect(events.messages).toHaveLength(1))
})

it("a session has one stream: another takes its place", async () => {
  const session = await begin()
  await subscribe(session)
  const first = await stream(session)
  const second = await stream(session, 1)
  await first.ended
  await stage.create(0, "told once")
  await vi.waitFor(() => expect(second.messages).toEqual([UPDATED]))
  expect(first.messages).toEqual([])
})

it("the stream ends with its session, which then has none", async () => {
  const session = await begin()
  const events = await stream(session)
  const { asToken, headers } = session
  await fetch(stage.endpoint(1), { method: "DELETE", headers: { ...headers, authorization: `Bearer ${asToken}` } })
  await events.ended
  expect((await get(session)).status).toBe(404)
  expect((await post(asToken, headers, { id: 1, method: "resources/subscribe", params: { uri: URI } })).status).toBe(
    404,
  )
})

it("the stream ends with the access token that opened it", async () => {
  const session = await begin()
  const begun = Date.now()
  const events = await stream({ ...session, asToken: await stage.tokenOf({ ttl: 2 }) })
  await events.ended
  expect(Date.now() - begun).toBeLessThan(3_000)
  expect((await stream(session)).messages).toEqual([])
})

it("nobody opens or changes the stream of another's session", async () => {
  const session = await begin()
  const events = await stream(session)
  for (const other of [{ principal: "mallory" }, { tenant: "neighbour" }]) {
    const stolen = { ...session, asToken: await stage.tokenOf(other) }
    expect((await get(stolen)).status).toBe(404)
    expect(await subscribe(stolen)).toMatchObject({ error: { code: -32_001 } })
  }
  await settle("not for mallory")
  await sleep(GRACE_MS)
  expect(events.messages).toEqual([])
})

it("a neighbour's session hears of its own tenant alone", async () => {
  const neighbour = await stage.tokenOf({ tenant: "neighbour" })
  const session = await begin(neighbour)
  await subscribe(session)
  const events = await stream(session)
  await settle("private")
  await stage.create(1, "its own", neighbour)
  await vi.waitFor(() => expect(events.messages.length).toBeGreaterThan(0))
  await sleep(GRACE_MS)
  expect(events.messages).toEqual([UPDATED])
})

it("a session subscribes to 64 resources and no more", async () => {
  const session = await begin()
  for (let index = 0; index < 64; index++) expect(await subscribe(session, `test://${index}`)).toEqual(DONE)
  expect(await subscribe(session, "test://1")).toEqual(DONE)
  expect(await subscribe(session, "test://64")).toMatchObject({ id: 1, error: { code: -32_602 } })
  await subscribe(session, "test://0", "unsubscribe")
  expect(await subscribe(session, "test://64")).toEqual(DONE)
})

it("the session's object sleeps while its client only listens", async () => {
  const session = await begin()
  const objects = () => readdir(join(stage.storage, "Session")).catch(() => [])
  const before = await objects()
  const events = await stream(session)
  await subscribe(session)
  await stage.create(0, "told in its sleep")
  await vi.waitFor(() => expect(events.messages).toEqual([UPDATED]))
  expect(await objects()).toEqual(before)
  await (await post(token, session.headers, { id: 2, method: "ping" })).text()
  expect(await objects()).not.toEqual(before)
})

it("where there are no sessions, a client of 2025-11-25 is not told that it may subscribe", async () => {
  const bindings = { ...stage.identity.bindings, PUBLIC_URL, LEGACY: "stateless" }
  const stateless = await startWorker({ bindings, storage: join(stage.storage, "stateless") })
  const client = new Client({ name: "waxseal-test", version: "1.0.0" })
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${stateless.url}/mcp`), { requestInit }))
  expect(client.getServerCapabilities()?.resources).toEqual({ listChanged: false, subscribe: false })
  await expect(client.subscribeResource({ uri: URI })).rejects.toThrow()
  await client.close()
  await stateless.kill()
})

it("a stream is for those who accept one, and in a session", async () => {
  const session = await begin()
  const plain = { ...session.headers, authorization: `Bearer ${token}` }
  expect((await fetch(stage.endpoint(0), { headers: { ...plain, accept: "application/json" } })).status).toBe(406)
  expect((await get({ ...session, headers: {} })).status).toBe(405)
})
