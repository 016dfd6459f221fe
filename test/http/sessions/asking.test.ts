import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { legacyClient } from "../../support/legacy.ts"
import { inRegion, provision, questionOf, resultOf, type Stage, startStage } from "./stage.ts"

let stage: Stage

beforeAll(async () => {
  stage = await startStage()
})

afterAll(() => stage.end())

describe("a question", () => {
  it("answers once, and under no other id than its own", async () => {
    const client = await stage.open()
    const stream = await provision(client, "once")
    const question = await questionOf(stream)
    for (const id of [0, "0", "", 1, "unknown"])
      expect((await client.send({ ...inRegion(question), id })).status).toBe(400)
    expect((await client.send(inRegion(question))).status).toBe(202)
    expect((await client.send(inRegion(question, "us-east-1"))).status).toBe(400)
    expect(await resultOf(stream)).toMatchObject({ structuredContent: { status: "completed" } })
    expect((await client.send(inRegion(question, "us-east-1"))).status).toBe(400)
  })

  it("waits on where its answer is refused at the transport, and then counts one of two", async () => {
    const client = await stage.open()
    const stream = await provision(client, "refused at first")
    const question = await questionOf(stream)
    expect((await client.send(inRegion(question), { accept: "application/json" })).status).toBe(406)
    expect((await client.send(inRegion(question), { "mcp-protocol-version": "2024-01-01" })).status).toBe(400)
    const cancel = { method: "notifications/cancelled", params: { requestId: stream.id } }
    expect((await client.send(cancel, { accept: "application/json" })).status).toBe(406)
    const both = await Promise.all([client.send(inRegion(question)), client.send(inRegion(question))])
    expect(both.map(({ status }) => status).toSorted()).toEqual([202, 400])
    expect(await resultOf(stream)).toMatchObject({ structuredContent: { status: "completed" } })
  })

  it("that was answered takes no other answer while the next one waits", async () => {
    const client = await stage.open()
    const stream = await provision(client, "asked again")
    const first = await questionOf(stream)
    await client.send({ id: first.id, result: { action: "accept", content: { region: "nowhere" } } })
    const second = await questionOf(stream)
    expect((await client.send(inRegion(first))).status).toBe(400)
    await client.send(inRegion(second, "us-east-1"))
    expect(await resultOf(stream)).toMatchObject({ structuredContent: { database: { region: "us-east-1" } } })
  })

  it("is put again on the same stream where the answer is none, and ends by the operation's own limit", async () => {
    const client = await stage.open()
    const stream = await provision(client, "never")
    for (const region of ["nowhere", 7, ""]) {
      const { id } = await questionOf(stream)
      await client.send({ id, result: { action: "accept", content: { region } } })
    }
    expect(await resultOf(stream)).toMatchObject({ isError: true, structuredContent: { status: "rounds_exceeded" } })
    expect(await stage.created()).not.toContain("never")
  })

  it.each([
    ["no answer at all", { result: {} }],
    ["an action that there is not", { result: { action: "maybe" } }],
    ["a content of another shape", { result: { action: "accept", content: { region: { of: "eu-west-1" } } } }],
    ["an error", { error: { code: -32603, message: "The person is away." } }],
  ])("whose answer is %s ends the call with an error, and nothing is done", async (_, answer) => {
    const client = await stage.open()
    const stream = await provision(client, "malformed")
    const { id } = await questionOf(stream)
    expect((await client.send({ id, ...answer })).status).toBe(202)
    expect(await resultOf(stream)).toMatchObject({ isError: true })
    expect(await stage.created()).not.toContain("malformed")
  })

  it.each(["decline", "cancel"])("that a person answers by %s ends it", async (action) => {
    const client = await stage.open()
    const stream = await provision(client, `no-${action}`)
    const { id } = await questionOf(stream)
    await client.send({ id, result: { action } })
    const status = action === "decline" ? "declined" : "cancelled"
    expect(await resultOf(stream)).toMatchObject({ structuredContent: { status, retryable: false } })
    expect(await stage.created()).not.toContain(`no-${action}`)
  })

  it("may follow another, each with a name of its own", async () => {
    const client = await stage.open()
    const stream = await client.call("tools/call", { name: "repeat", arguments: {} })
    for (const word of ["one", "two"]) {
      const { id } = await questionOf(stream)
      await client.send({ id, result: { action: "accept", content: { word } } })
    }
    expect(await resultOf(stream)).toMatchObject({ structuredContent: { words: ["one", "two"] } })
  })

  it("is put to nobody where the client declared no form", async () => {
    const client = await stage.open({}, { capabilities: {} })
    expect(await resultOf(await provision(client, "unasked"))).toMatchObject({ isError: true })
  })

  it("is put to nobody without a session, which a tool that asks says", async () => {
    const client = legacyClient(stage.url, await stage.token(), undefined)
    const result = await resultOf(await provision(client, "sessionless"))
    expect(result).toMatchObject({ isError: true })
    expect(JSON.stringify(result)).toContain("or one with a session")
  })

  it("takes no state that a client brings, and no answers with the call", async () => {
    const client = await stage.open()
    const call = { name: "provision_database", arguments: { name: "brought" } }
    const inputResponses = { region: { action: "accept", content: { region: "eu-west-1" } } }
    await questionOf(await client.call("tools/call", { ...call, inputResponses }))
    const brought = await client.call("tools/call", { ...call, inputResponses, requestState: "AZX0" })
    expect((await brought.next()).error).toMatchObject({ code: -32602 })
    expect(await stage.created()).not.toContain("brought")
  })
})

describe("a call", () => {
  it("that its client cancels ends with its stream, and its question counts no more", async () => {
    const client = await stage.open()
    const stream = await provision(client, "cancelled")
    const question = await questionOf(stream)
    const cancel = { method: "notifications/cancelled", params: { requestId: stream.id } }
    expect((await client.send(cancel)).status).toBe(202)
    const withdrawn = { method: "notifications/cancelled", params: { requestId: question.id } }
    expect(await stream.next()).toMatchObject(withdrawn)
    await expect(stream.next()).rejects.toThrow("has ended")
    expect((await client.send(inRegion(question))).status).toBe(400)
    expect(await stage.created()).not.toContain("cancelled")
  })

  it("may not have the id of one that is under way", async () => {
    const client = await stage.open()
    const stream = await provision(client, "first")
    const question = await questionOf(stream)
    const again = await client.send({ id: stream.id, method: "tools/list", params: {} })
    expect(again.status).toBe(400)
    await client.send(inRegion(question))
    expect(await resultOf(stream)).toMatchObject({ structuredContent: { status: "completed" } })
    expect((await client.send({ id: stream.id, method: "tools/list", params: {} })).status).toBe(200)
  })

  it("is one of sixteen at a time, and what is refused at the transport is none of them", async () => {
    const client = await stage.open()
    for (let refused = 0; refused < 20; refused++) {
      const response = await client.send({ id: `r${refused}`, method: "ping" }, { accept: "text/html" })
      expect(response.status).toBe(406)
    }
    const streams = await Promise.all(Array.from({ length: 16 }, (_, index) => provision(client, `many-${index}`)))
    const questions = await Promise.all(streams.map(questionOf))
    const over = await client.send({ id: "over", method: "ping" })
    expect(over.status).toBe(429)
    expect(over.headers.get("retry-after")).toBe("1")
    const [first] = questions
    if (!first) throw new Error("No question came.")
    await client.send({ id: first.id, result: { action: "decline" } })
    await streams[0]?.next()
    expect((await client.send({ id: "after", method: "ping" })).status).toBe(200)
    await client.end()
  })

  it("whose client hangs up may still be answered, and its work is not lost", async () => {
    const client = await stage.open()
    const stream = await provision(client, "hung-up")
    const question = await questionOf(stream)
    await stream.cancel()
    expect((await client.send(inRegion(question))).status).toBe(202)
    await sleep(200)
    expect(await stage.created()).toContain("hung-up")
  })
})

it("a person's time is that of a round's state, and no progress extends it", async () => {
  const hasty = await startStage({ STATE_TTL_SECONDS: "2" })
  try {
    const client = await hasty.open()
    const stream = await provision(client, "late")
    const question = await questionOf(stream)
    const { _meta: meta } = question.params ?? {}
    const progressToken = JSON.parse(JSON.stringify(meta)).progressToken
    const progress = { method: "notifications/progress", params: { progressToken, progress: 1 } }
    for (const wait of [700, 700]) {
      await sleep(wait)
      expect((await client.send(progress)).status).toBe(202)
    }
    const begun = performance.now()
    const withdrawn = await stream.next()
    expect(withdrawn).toMatchObject({ method: "notifications/cancelled", params: { requestId: question.id } })
    expect(await resultOf(stream)).toMatchObject({ isError: true })
    expect(performance.now() - begun).toBeLessThan(1_300)
    expect((await client.send(inRegion(question))).status).toBe(400)
    expect(await hasty.created()).not.toContain("late")
  } finally {
    await hasty.end()
  }
})
