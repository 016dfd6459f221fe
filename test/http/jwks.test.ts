import { mkdtemp, rm } from "node:fs/promises"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, beforeEach, expect, it } from "vitest"
import { makeIdentity, type TestIdentity } from "../support/identity.ts"
import { call } from "../support/mcp.ts"
import { type Running, startWorker } from "../support/workerd.ts"

/** An identity provider's key endpoint that counts who asks, and can be made to fail. */
interface Provider {
  readonly server: Server
  asked: number
  answer: { status: number; body: string }
  /** Milliseconds. */
  delay: number
}

let provider: Provider
let identity: TestIdentity
let storage: string
let worker: Running

beforeEach(async () => {
  identity = await makeIdentity()
  storage = await mkdtemp(join(tmpdir(), "waxseal-"))
  const { AUTH_JWKS, ...bindings } = identity.bindings
  const server = createServer(async (_request, response) => {
    provider.asked += 1
    await sleep(provider.delay)
    response.writeHead(provider.answer.status, { "content-type": "application/json" }).end(provider.answer.body)
  })
  provider = { server, asked: 0, answer: { status: 200, body: AUTH_JWKS }, delay: 0 }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  worker = await startWorker({ bindings: { ...bindings, AUTH_JWKS_URL: `http://127.0.0.1:${port}/jwks` }, storage })
})

afterEach(async () => {
  await worker.stop()
  provider.server.close()
  await rm(storage, { recursive: true, force: true })
})

const list = (token: string) =>
  call(`${worker.url}/mcp`, { token, method: "tools/call", name: "list_created", arguments: {} })

async function status(token: string): Promise<number> {
  return (await list(token)).status
}

function tokenOf(issuer: TestIdentity, principal = "alice"): Promise<string> {
  return issuer.token({ principal, audience: `${worker.url}/mcp`, issuer: identity.issuer })
}

it("fetches the keys once for many tokens", async () => {
  for (let caller = 0; caller < 5; caller += 1)
    expect(await status(await tokenOf(identity, `caller-${caller}`))).toBe(200)
  expect(provider.asked).toBe(1)
})

it("fetches them once for many tokens that come at once", async () => {
  provider.delay = 300
  const tokens = await Promise.all(Array.from({ length: 10 }, (_, caller) => tokenOf(identity, `caller-${caller}`)))
  expect(new Set(await Promise.all(tokens.map(status)))).toEqual(new Set([200]))
  expect(provider.asked).toBe(1)
})

it("does not ask again within the cool-down, however many unknown keys come", async () => {
  expect(await status(await tokenOf(identity))).toBe(200)
  const strangers = await Promise.all(Array.from({ length: 20 }, async () => tokenOf(await makeIdentity())))
  expect(new Set(await Promise.all(strangers.map(status)))).toEqual(new Set([401]))
  expect(provider.asked).toBe(1)
})

it("needs the provider no more once it has the keys", async () => {
  expect(await status(await tokenOf(identity))).toBe(200)
  provider.answer = { status: 500, body: "" }
  expect(await status(await tokenOf(identity, "bob"))).toBe(200)
  provider.server.closeAllConnections()
  provider.server.close()
  expect(await status(await tokenOf(identity, "carol"))).toBe(200)
})

it.each([
  ["fails", { status: 500, body: "" }],
  ["says nonsense", { status: 200, body: "<html>" }],
  ["says other JSON", { status: 200, body: '{"keys":7}' }],
  ["has no key", { status: 200, body: '{"keys":[]}' }],
  ["has a secret alone", { status: 200, body: '{"keys":[{"kty":"oct","k":"AAAA"}]}' }],
  ["redirects", { status: 302, body: "" }],
])("answers 503 where the provider %s from the start, asks sparingly, and recovers", async (_what, answer) => {
  const good = provider.answer
  provider.answer = answer
  const token = await tokenOf(identity)
  for (let time = 0; time < 5; time += 1) {
    const { status, headers } = await list(token)
    expect(status).toBe(503)
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(2)
  }
  expect(provider.asked).toBe(1)
  provider.answer = good
  await sleep(2_100)
  expect(await status(token)).toBe(200)
})

it("takes a new key from everyone at once, for one more fetch, after the cool-down", async () => {
  expect(await status(await tokenOf(identity))).toBe(200)
  const next = await makeIdentity()
  await sleep(30_500)
  provider.answer = { status: 200, body: next.bindings.AUTH_JWKS }
  provider.delay = 500
  const tokens = await Promise.all(Array.from({ length: 6 }, (_, caller) => tokenOf(next, `caller-${caller}`)))
  expect(await Promise.all(tokens.map(status))).toEqual([200, 200, 200, 200, 200, 200])
  expect(provider.asked).toBe(2)
}, 60_000)
