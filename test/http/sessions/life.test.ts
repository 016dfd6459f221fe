import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { LegacyClient } from "../../support/legacy.ts"
import { inRegion, provision, questionOf, resultOf, type Stage, startStage } from "./stage.ts"

const LISTS = { id: 1, method: "tools/list", params: {} }
const MOST_SESSIONS = 100

let stage: Stage

beforeAll(async () => {
  stage = await startStage()
})

afterAll(() => stage.end())

const status = async (client: LegacyClient) => (await client.send(LISTS)).status

describe("when the runtime is killed in the middle", () => {
  it("the session goes on, what was asked is asked anew, and one thing is made", async () => {
    const client = await stage.open()
    const stream = await provision(client, "survives")
    const question = await questionOf(stream)
    await stage.crash()
    await expect(stream.next()).rejects.toThrow()
    const late = await client.send(inRegion(question))
    expect([late.status, await late.text()]).toEqual([400, expect.stringContaining("make the call that asked again")])
    expect(await stage.created()).not.toContain("survives")
    const again = await provision(client, "survives")
    await client.send(inRegion(await questionOf(again)))
    expect(await resultOf(again)).toMatchObject({ structuredContent: { status: "completed" } })
    expect((await stage.created()).match(/database survives/g)).toHaveLength(1)
  })

  it("an answer to what was asked before is none to what is asked now", async () => {
    const client = await stage.open()
    const before = await questionOf(await provision(client, "shown"))
    await stage.crash()
    const stream = await provision(client, "not-shown")
    const now = await questionOf(stream)
    expect((await client.send(inRegion(before))).status).toBe(400)
    expect(await stage.created()).not.toContain("not-shown")
    await client.send({ id: now.id, result: { action: "decline" } })
    expect(await resultOf(stream)).toMatchObject({ structuredContent: { status: "declined" } })
  })
})

describe("a session that its client ends", () => {
  it("closes its streams, and stays ended", async () => {
    const client = await stage.open()
    const stream = await provision(client, "ended")
    const question = await questionOf(stream)
    expect((await client.end()).status).toBe(204)
    await expect(stream.next()).rejects.toThrow()
    expect((await client.send(inRegion(question))).status).toBe(404)
    expect(await status(client)).toBe(404)
    expect((await client.end()).status).toBe(404)
    await stage.crash()
    expect(await status(client)).toBe(404)
    expect(await stage.created()).not.toContain("ended")
    expect(stage.worker.logs()).toContain('"event":"session_refused","reason":"ended"')
  })

  it("leaves the others alone", async () => {
    const [one, other] = [await stage.open(), await stage.open()]
    await one.end()
    expect([await status(one), await status(other)]).toEqual([404, 200])
  })
})

it("beyond a hundred of one principal the oldest ends, and nobody else's", async () => {
  const bobs = await stage.open({ principal: "bob" })
  const [oldest, next] = [await stage.open({ principal: "carol" }), await stage.open({ principal: "carol" })]
  const stream = await provision(oldest, "displaced")
  await questionOf(stream)
  for (let begun = 2; begun < MOST_SESSIONS; begun++) await stage.open({ principal: "carol" })
  expect([await status(oldest), await status(next)]).toEqual([200, 200])
  const newest = await stage.open({ principal: "carol" })
  await expect(stream.next()).rejects.toThrow()
  expect([await status(oldest), await status(next), await status(newest), await status(bobs)]).toEqual([
    404, 200, 200, 200,
  ])
  expect(stage.worker.logs()).toContain('"event":"session","change":"displaced"')
})

it("a thousand idle sessions touch no object of their own; those that were used have stored nothing and set no alarm", async () => {
  const idle = await startStage()
  try {
    const principals = Array.from({ length: 10 }, (_, index) => `idle-${index}`)
    const all = await Promise.all(
      principals.map(async (principal) => {
        const clients: LegacyClient[] = []
        for (let begun = 0; begun < MOST_SESSIONS; begun++) clients.push(await idle.open({ principal }))
        return clients
      }),
    )
    expect(await idle.objects("Session")).toHaveLength(0)
    expect(await idle.alarms("Session")).toBe(0)
    const lists = await idle.objects("SessionList")
    expect(lists).toHaveLength(10)
    expect(await idle.alarms("SessionList")).toBe(10)

    const used = all.flatMap((clients) => clients.slice(0, 2))
    for (const client of used) expect(await status(client)).toBe(200)
    const touched = await idle.objects("Session")
    expect(touched).toHaveLength(used.length)
    for (const file of touched) expect(idle.tables("Session", file)).toEqual([])
    expect(await idle.alarms("Session")).toBe(0)

    for (const clients of all.slice(0, 1)) await Promise.all(clients.map((client) => client.end()))
    expect(await idle.alarms("SessionList")).toBe(9)
  } finally {
    await idle.end()
  }
})
