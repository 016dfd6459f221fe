import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeIdentity, type TestIdentity, type TokenOptions } from "../support/identity.ts"
import { type Answer, type Call, call, encode, errorOf, resultOf } from "../support/mcp.ts"
import { type Running, startWorker } from "../support/workerd.ts"

let identity: TestIdentity
let storage: string
let worker: Running
let alice: string

beforeAll(async () => {
  identity = await makeIdentity()
  storage = await mkdtemp(join(tmpdir(), "waxseal-"))
  await start()
})

afterAll(async () => {
  await worker.stop()
  await rm(storage, { recursive: true, force: true })
})

/** Starts the Worker, at the same port as before where there was one, so that tokens keep their audience. */
async function start(settings: Record<string, string> = {}, port?: number): Promise<void> {
  worker = await startWorker({
    bindings: { ...identity.bindings, ...settings },
    storage,
    ...(port !== undefined && { port }),
  })
  alice = await token({ principal: "alice" })
}

function token(who: Omit<TokenOptions, "audience">): Promise<string> {
  return identity.token({ audience: `${worker.url}/mcp`, ...who })
}

function send(call_: Partial<Call> & { readonly name?: string }): Promise<Answer> {
  return call(`${worker.url}/mcp`, { token: alice, method: "tools/call", ...call_ })
}

let names = 0

/** A name that no other test has used. */
function freshName(): string {
  names += 1
  return `db-${names}`
}

/** The first leg: what is asked, and the state that comes with it. */
async function ask(name: string, options: Partial<Call> = {}): Promise<string> {
  const result = resultOf(await send({ name: "provision_database", arguments: { name }, ...options }))
  expect(result.resultType).toBe("input_required")
  return result.requestState ?? ""
}

const accept = (region: unknown) => ({ region: { action: "accept", content: { region } } })
const decline = { region: { action: "decline" } }
const cancel = { region: { action: "cancel" } }

function answer(
  name: string,
  requestState: string,
  inputResponses: Record<string, unknown>,
  options: Partial<Call> = {},
): Promise<Answer> {
  return send({ name: "provision_database", arguments: { name }, requestState, inputResponses, ...options })
}

async function outcome(answering: Promise<Answer>): Promise<{ isError: boolean; [member: string]: unknown }> {
  const { isError = false, structuredContent } = resultOf(await answering)
  return { isError, ...structuredContent }
}

async function created(options: Partial<Call> = {}): Promise<string[]> {
  const result = resultOf(await send({ name: "list_created", arguments: {}, ...options }))
  const databases = result.structuredContent?.["databases"]
  return Array.isArray(databases) ? databases.map((database) => database.name) : []
}

async function refusal(answering: Promise<Answer>): Promise<unknown> {
  const { status, body } = await answering
  return { status, body: { ...Object(body), id: null } }
}

const UNIFORM_REFUSAL = {
  status: 200,
  body: {
    jsonrpc: "2.0",
    id: null,
    error: { code: -32602, message: "Invalid or expired requestState", data: { reason: "invalid_request_state" } },
  },
}

describe("asking", () => {
  it("asks for the region with a form and stores nothing", async () => {
    const name = freshName()
    const result = resultOf(await send({ name: "provision_database", arguments: { name } }))
    expect(result).toMatchObject({
      resultType: "input_required",
      inputRequests: {
        region: {
          method: "elicitation/create",
          params: {
            mode: "form",
            requestedSchema: {
              type: "object",
              properties: { region: { type: "string", enum: ["eu-west-1", "us-east-1", "ap-southeast-1"] } },
              required: ["region"],
            },
          },
        },
      },
    })
    expect(result.requestState).toMatch(/^[A-Za-z0-9_-]{80,200}$/)
    expect(await created()).not.toContain(name)
  })

  it("asks nothing of a client that cannot show a form", async () => {
    const meta = { "io.modelcontextprotocol/clientCapabilities": {} }
    const refused = await send({ name: "provision_database", arguments: { name: freshName() }, meta })
    expect(refused.status).toBe(400)
    expect(errorOf(refused).code).toBe(-32021)
  })

  it("refuses arguments that do not fit, and creates nothing", async () => {
    for (const name of ["", "x".repeat(129), "line\nbreak", 7, null, undefined]) {
      const result = resultOf(await send({ name: "provision_database", arguments: { name } }))
      expect(result.isError).toBe(true)
    }
  })
})

describe("accepting", () => {
  it("creates the database exactly once and says where", async () => {
    const name = freshName()
    const accepted = await outcome(answer(name, await ask(name), accept("eu-west-1")))
    expect(accepted).toMatchObject({
      isError: false,
      status: "completed",
      retryable: false,
      database: { name, region: "eu-west-1", createdAt: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/) },
    })
    expect(await created()).toContain(name)
  })

  it("gives an exact repeat the recorded result", async () => {
    const name = freshName()
    const state = await ask(name)
    const first = await outcome(answer(name, state, accept("eu-west-1")))
    expect(await outcome(answer(name, state, accept("eu-west-1")))).toEqual(first)
  })

  it("refuses other answers for a spent operation", async () => {
    const name = freshName()
    const state = await ask(name)
    await answer(name, state, accept("eu-west-1"))
    const other = await outcome(answer(name, state, accept("us-east-1")))
    expect(other).toMatchObject({ isError: true, status: "already_used", retryable: false, recorded: "completed" })
    expect(other).not.toHaveProperty("database")
  })

  it("creates one database for twenty parallel retries", async () => {
    const name = freshName()
    const state = await ask(name)
    const regions = ["eu-west-1", "us-east-1"]
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, racer) => outcome(answer(name, state, accept(regions[racer % 2])))),
    )
    const statuses = new Set(outcomes.map(({ status }) => status))
    expect(statuses).toContain("completed")
    expect([...statuses].every((status) => ["completed", "in_progress", "already_used"].includes(String(status)))).toBe(
      true,
    )
    const made = outcomes.flatMap(({ database }) => database ?? [])
    expect(new Set(made.map((database) => JSON.stringify(database))).size).toBe(1)
    expect((await created()).filter((one) => one === name)).toHaveLength(1)
  })

  it("takes a retry that says the same in other bytes", async () => {
    const name = "café"
    const state = await ask(name)
    const { headers, body } = encode({
      token: alice,
      method: "tools/call",
      name: "provision_database",
      arguments: { name },
      requestState: state,
      inputResponses: { ...accept("eu-west-1"), unasked: { action: "accept", content: {} } },
      id: "another",
      meta: { progressToken: 7, traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" },
    })
    const escaped = body.replace("café", "caf\\u00e9")
    expect(escaped).not.toBe(body)
    const response = await fetch(`${worker.url}/mcp`, { method: "POST", headers, body: escaped })
    expect(await response.text()).toContain('"status":"completed"')
  })

  it("says so when the name is taken, and creates nothing", async () => {
    const name = freshName()
    await answer(name, await ask(name), accept("eu-west-1"))
    const state = await ask(name)
    const second = await outcome(answer(name, state, accept("us-east-1")))
    expect(second).toMatchObject({ isError: true, status: "failed", retryable: false })
    expect(await outcome(answer(name, state, accept("us-east-1")))).toEqual(second)
  })
})

describe("saying no", () => {
  it("creates nothing on a decline, says so, and means it on every branch", async () => {
    const name = freshName()
    const state = await ask(name)
    const branch = resultOf(await answer(name, state, {})).requestState ?? ""
    const declined = await outcome(answer(name, state, decline))
    expect(declined).toMatchObject({ isError: false, status: "declined", retryable: false })
    expect(await outcome(answer(name, state, decline))).toEqual(declined)
    for (const one of [state, branch]) {
      const yes = await outcome(answer(name, one, accept("eu-west-1")))
      expect(yes).toMatchObject({ isError: true, status: "already_used", recorded: "declined" })
    }
    expect(await created()).not.toContain(name)
  })

  it("ends on a cancel", async () => {
    const name = freshName()
    const state = await ask(name)
    expect(await outcome(answer(name, state, cancel))).toMatchObject({ isError: false, status: "cancelled" })
    expect(await outcome(answer(name, state, accept("eu-west-1")))).toMatchObject({ status: "already_used" })
    expect(await created()).not.toContain(name)
  })

  it("creates nothing when a no comes with content", async () => {
    const name = freshName()
    const no = { region: { action: "decline", content: { region: "eu-west-1" } } }
    expect(await outcome(answer(name, await ask(name), no))).toMatchObject({ status: "declined" })
    expect(await created()).not.toContain(name)
  })
})

describe("answers that are none", () => {
  it("asks again for missing or invalid answers, and spends nothing", async () => {
    for (const responses of [
      {},
      accept("mars"),
      accept(7),
      accept({ region: "eu-west-1" }),
      { region: { action: "accept" } },
      { region: { action: "accept", content: {} } },
      { region: { action: "perhaps", content: { region: "eu-west-1" } } },
      { region: 7 },
      { region: null },
      { region: { roots: [7] } },
    ]) {
      const name = freshName()
      const state = await ask(name)
      const again = resultOf(await answer(name, state, responses))
      expect(again.resultType).toBe("input_required")
      expect(again.requestState).not.toBe(state)
      expect(await created()).not.toContain(name)
      const then = await outcome(answer(name, again.requestState ?? "", accept("eu-west-1")))
      expect(then).toMatchObject({ status: "completed" })
    }
  })

  it("counts answers without state for nothing", async () => {
    const name = freshName()
    await ask(name, { inputResponses: accept("eu-west-1") })
    expect(await created()).not.toContain(name)
  })

  it("stops after the last round", async () => {
    const name = freshName()
    let state = await ask(name)
    for (let round = 2; round <= 3; round += 1) state = resultOf(await answer(name, state, {})).requestState ?? ""
    const stopped = await outcome(answer(name, state, {}))
    expect(stopped).toMatchObject({ isError: true, status: "rounds_exceeded", retryable: true })
    expect(await outcome(answer(name, state, accept("eu-west-1")))).toMatchObject({ status: "completed" })
  })
})

describe("state that is not this caller's, for this request, now", () => {
  it("is refused with the same bytes for every cause, and creates nothing", async () => {
    const name = freshName()
    const state = await ask(name)
    const yes = accept("eu-west-1")
    const flipped = state.slice(0, 60) + (state[60] === "A" ? "B" : "A") + state.slice(61)
    const refusals = [
      answer(name, flipped, yes),
      answer(name, `${state}=`, yes),
      answer(name, state.slice(0, -1), yes),
      answer(name, "", yes),
      answer(name, ".".repeat(100_000), yes),
      answer("other", state, yes),
      answer(name, state, yes, { token: await token({ principal: "mallory" }) }),
      answer(name, state, yes, { token: await token({ principal: "alice", tenant: "evil" }) }),
      answer(name, state, yes, { token: await token({ principal: "alice", client: "other" }) }),
      send({ name: "list_created", arguments: { name }, requestState: state, inputResponses: yes }),
    ]
    for (const refused of refusals) expect(await refusal(refused)).toEqual(UNIFORM_REFUSAL)
    expect(await created()).not.toContain(name)
  })

  it("keeps its reasons for the log", async () => {
    const name = freshName()
    const state = await ask(name)
    await answer(name, state, accept("eu-west-1"), { token: await token({ principal: "mallory" }) })
    expect(worker.logs()).toContain('{"event":"state_refused","reason":"principal","name":"provision_database",')
  })

  it("shows one tenant nothing of another's", async () => {
    const name = freshName()
    await answer(name, await ask(name), accept("eu-west-1"))
    const elsewhere = { token: await token({ principal: "alice", tenant: "globex" }) }
    expect(await created(elsewhere)).toEqual([])
    const read = { method: "resources/read", name: "waxseal://created" }
    expect(JSON.stringify(resultOf(await send({ ...read, ...elsewhere })).contents)).not.toContain(name)
  })
})

describe("time", () => {
  it("refuses expired state, but shows a recorded outcome to an exact repeat", async () => {
    const port = worker.port
    await worker.stop()
    await start({ STATE_TTL_SECONDS: "2" }, port)
    const [spentName, unspentName] = [freshName(), freshName()]
    const [spent, unspent] = [await ask(spentName), await ask(unspentName)]
    const completed = await outcome(answer(spentName, spent, accept("eu-west-1")))
    await setTimeout(2_100)
    expect(await refusal(answer(unspentName, unspent, accept("eu-west-1")))).toEqual(UNIFORM_REFUSAL)
    expect(await refusal(answer(unspentName, unspent, decline))).toEqual(UNIFORM_REFUSAL)
    expect(await refusal(answer(unspentName, unspent, {}))).toEqual(UNIFORM_REFUSAL)
    expect(await outcome(answer(spentName, spent, accept("eu-west-1")))).toEqual(completed)
    expect(await refusal(answer(spentName, spent, accept("us-east-1")))).toEqual(UNIFORM_REFUSAL)
    expect(await created()).not.toContain(unspentName)
    await worker.stop()
    await start({}, port)
  })
})

describe("crashes", () => {
  it("forgets nothing when it is killed", async () => {
    const [name, pending, declinedName] = [freshName(), freshName(), freshName()]
    const [state, pendingState, declinedState] = [await ask(name), await ask(pending), await ask(declinedName)]
    const completed = await outcome(answer(name, state, accept("eu-west-1")))
    const declined = await outcome(answer(declinedName, declinedState, decline))
    const port = worker.port
    await worker.kill()
    await start({}, port)
    expect(await outcome(answer(name, state, accept("eu-west-1")))).toEqual(completed)
    expect(await outcome(answer(name, state, accept("us-east-1")))).toMatchObject({ status: "already_used" })
    expect(await outcome(answer(declinedName, declinedState, decline))).toEqual(declined)
    expect(await outcome(answer(declinedName, declinedState, accept("eu-west-1")))).toMatchObject({
      status: "already_used",
    })
    expect(await outcome(answer(pending, pendingState, accept("eu-west-1")))).toMatchObject({ status: "completed" })
    expect(await created()).toEqual(expect.arrayContaining([name, pending]))
  })
})

describe("reading what was created", () => {
  it("shows the same as a resource", async () => {
    const name = freshName()
    await answer(name, await ask(name), accept("ap-southeast-1"))
    const result = resultOf(await send({ method: "resources/read", name: "waxseal://created" }))
    expect(JSON.stringify(result.contents)).toContain(`\\"name\\":\\"${name}\\"`)
  })
})
