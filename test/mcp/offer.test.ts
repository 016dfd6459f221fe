import { McpServer, type ServerContext } from "@modelcontextprotocol/server"
import { expect, it } from "vitest"
import type { Principal, TenantId } from "../../src/brands.ts"
import { type Era, plainOffer, singleExchange } from "../../src/mcp/offer.ts"
import { stage } from "../operation/stage.ts"

it("what a plain offer throws stays here, and the operator learns its name", async () => {
  const { parts, events } = stage()
  const identity = { tenant: "claim:acme" as TenantId, principal: "alice" as Principal, scopes: new Set(["mcp"]) }
  const called = {
    id: 1,
    method: "tools/call",
    target: "look",
    arguments: {},
    hasState: false,
    traceparent: undefined,
    problem: undefined,
  }
  let ended: Promise<unknown> = Promise.resolve()
  const offer = plainOffer("tools/call", "look", (_server, guard) => {
    ended = guard({} as ServerContext, async () => {
      throw new RangeError("secret of the platform")
    })
  })
  const entrance = { identity, audience: "https://waxseal.test/mcp", metadata: "", expiresAt: 0, parts }
  const exchange = { ...entrance, hearing: new Set<Era>(), body: {}, called }
  offer.serve(singleExchange(exchange, "modern")).register(new McpServer({ name: "test", version: "1" }))
  await expect(ended).rejects.toThrow(/^The server failed; try again\.$/)
  expect(events).toMatchObject([{ event: "fault", name: "look", error: "RangeError" }])
  expect(JSON.stringify(events)).not.toMatch(/secret|alice/)
})
