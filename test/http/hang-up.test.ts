import { mkdtemp, rm } from "node:fs/promises"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, expect, it } from "vitest"
import { buildBundle } from "../support/bundle.ts"
import { makeIdentity } from "../support/identity.ts"
import { call, encode, resultOf } from "../support/mcp.ts"
import { type Running, startWorker } from "../support/workerd.ts"

let storage: string
let worker: Running
let token: string

beforeAll(async () => {
  const bundle = await buildBundle({
    config: "test/fixtures/slow/wrangler.toml",
    sources: ["src", "test/fixtures/slow"],
  })
  const identity = await makeIdentity()
  storage = await mkdtemp(join(tmpdir(), "waxseal-"))
  worker = await startWorker({ bundle, bindings: identity.bindings, storage })
  token = await identity.token({ principal: "alice", audience: `${worker.url}/mcp` })
})

afterAll(async () => {
  await worker.stop()
  await rm(storage, { recursive: true, force: true })
})

interface Times {
  readonly name: string
  readonly before: number
  readonly during: number
}

const answers = { approval: { action: "accept", content: { approved: true } } }

async function ask(times: Times) {
  const asked = { token, method: "tools/call", name: "slow", arguments: { ...times } }
  return {
    ...asked,
    requestState: resultOf(await call(`${worker.url}/mcp`, asked)).requestState ?? "",
    inputResponses: answers,
  }
}

/** Sends the second leg and resets the connection after a while, which is what tells the runtime. */
async function hangUp(times: Times, after: number) {
  const leg = await ask(times)
  const { headers, body } = encode(leg)
  const lines = [
    "POST /mcp HTTP/1.1",
    `Host: 127.0.0.1:${worker.port}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  const socket = connect(worker.port, "127.0.0.1", () => socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`))
  await sleep(after)
  socket.resetAndDestroy()
  await sleep(times.before + times.during + 500)
  return leg
}

async function created(): Promise<string> {
  const list = { token, method: "tools/call", name: "list_created", arguments: {} }
  return JSON.stringify(resultOf(await call(`${worker.url}/mcp`, list)).structuredContent)
}

it("a client that goes away before the commit stops it, and may come back", async () => {
  const leg = await hangUp({ name: "early", before: 800, during: 0 }, 300)
  expect(await created()).not.toContain("early")
  const again = resultOf(await call(`${worker.url}/mcp`, leg))
  expect(again.structuredContent).toMatchObject({ status: "completed" })
})

it("a client that goes away during the commit does not stop it, and gets its outcome later", async () => {
  const leg = await hangUp({ name: "late", before: 0, during: 800 }, 300)
  expect(await created()).toContain("late")
  const again = resultOf(await call(`${worker.url}/mcp`, leg))
  expect(again.structuredContent).toMatchObject({ status: "completed" })
})
