import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { openSession } from "../../support/legacy.ts"
import { call } from "../../support/mcp.ts"
import { startAsking } from "../asking.ts"
import { provision, resultOf, type Stage, startStage } from "./stage.ts"

const INITIALIZE = {
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
}

describe.each(["stateless", "reject"] as const)("LEGACY=%s", (LEGACY) => {
  let stage: Stage

  beforeAll(async () => {
    stage = await startStage({ LEGACY })
  })

  afterAll(() => stage.end())

  it("gives no session, and has a use for none", async () => {
    const client = await stage.open()
    expect(client.session).toBeUndefined()
    const headers = { authorization: `Bearer ${await stage.token()}`, "mcp-session-id": "anything" }
    for (const method of ["GET", "DELETE"]) expect((await fetch(stage.url, { method, headers })).status).toBe(405)
  })

  it(LEGACY === "reject" ? "says which revision is served" : "serves what never asks", async () => {
    const client = await stage.open()
    if (LEGACY === "reject") {
      const response = await client.send(INITIALIZE)
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ error: { code: -32022, data: { supported: ["2026-07-28"] } } })
    } else {
      expect(await resultOf(await client.call("tools/call", { name: "list_created", arguments: {} }))).toBeDefined()
      expect(await resultOf(await provision(client, "unasked"))).toMatchObject({ isError: true })
    }
  })

  it("changes nothing for clients of 2026-07-28", async () => {
    const answer = await call(stage.url, { token: await stage.token(), method: "tools/list" })
    expect(answer.status).toBe(200)
  })
})

it("a Worker without objects for sessions serves without them", async () => {
  const { worker, end } = await startAsking()
  try {
    const client = await openSession(`${worker.url}/mcp`, "none")
    expect(client.session).toBeUndefined()
    const result = await resultOf(await client.call("tools/call", { name: "form", arguments: {} }))
    expect(result).toMatchObject({ isError: true })
  } finally {
    await end()
  }
})
