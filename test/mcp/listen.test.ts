import { expect, it } from "vitest"
import type { Principal, TenantId } from "../../src/brands.ts"
import type { ChangesClient, Connected } from "../../src/mcp/changes/index.ts"
import { readCalled } from "../../src/mcp/exchange.ts"
import { listen } from "../../src/mcp/listen.ts"
import { type Era, serverOf } from "../../src/mcp/offer.ts"
import { stage } from "../operation/stage.ts"
import { encode } from "../support/mcp.ts"

const createServer = serverOf({ name: "test", version: "1" }, [], { capabilities: { tools: { listChanged: true } } })

/** A server whose tools change, as its author says, asked by a client that wants to know. */
function ask(changes: Pick<ChangesClient, "connect"> | undefined): Promise<Response> {
  const { headers, body } = encode({ method: "subscriptions/listen", id: "asked" })
  const message = JSON.parse(body)
  message.params.notifications = { toolsListChanged: true }
  const request = new Request("https://waxseal.test/mcp", { method: "POST", headers, body: JSON.stringify(message) })
  const identity = { tenant: "claim:acme" as TenantId, principal: "alice" as Principal, scopes: new Set(["mcp"]) }
  const entrance = { identity, audience: "https://waxseal.test/mcp", metadata: "", expiresAt: Date.now() + 60_000 }
  const hearing = new Set<Era>(["modern"])
  const exchange = { ...entrance, hearing, parts: stage().parts, body: message, called: readCalled(message) }
  return listen(createServer, request, exchange, changes as ChangesClient | undefined)
}

const refusing = (problem: Extract<Connected, { ok: false }>["problem"]) => ({
  connect: async () => ({ ok: false, problem }) as const,
})

it.each([
  ["where the author bound nothing", undefined, 501, /announces no changes/],
  ["where the bus cannot be reached", refusing("unreachable"), 503, /try again/],
  ["where the principal listens enough", refusing("principal_full"), 429, /end one of your streams/],
  ["where the tenant listens enough", refusing("tenant_full"), 429, /organisation/],
])("a client that cannot listen is told why: %s", async (_, changes, status, message) => {
  const response = await ask(changes)
  expect(response.status).toBe(status)
  expect(await response.json()).toMatchObject({
    id: "asked",
    error: { code: -32_000, message: expect.stringMatching(message) },
  })
})

it("acknowledges nothing before the bus is joined", async () => {
  const { 0: near, 1: far } = new WebSocketPair()
  far.accept()
  const order: string[] = []
  const response = await ask({
    connect: async () => {
      await scheduler.wait(20)
      order.push("joined")
      return { ok: true, socket: near, stop: new Promise(() => {}) }
    },
  })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  order.push(String((await reader?.read())?.value).includes("acknowledged") ? "acknowledged" : "something else")
  expect(order).toEqual(["joined", "acknowledged"])
  far.send(JSON.stringify({ kind: "tools_list_changed" }))
  expect((await reader?.read())?.value).toContain("notifications/tools/list_changed")
  await reader?.cancel()
})
