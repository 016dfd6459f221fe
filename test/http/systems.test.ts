import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { encode } from "../support/mcp.ts"
import { ALICE, type Called, connect, requestOf, type Said, type Speak, said, type Who } from "./systems/speakers.ts"
import { accepting, INCIDENTS, OPERATIONS, refusing, SYSTEMS, type System } from "./systems/systems.ts"
import { createWorld, type World } from "./systems/world.ts"

let world: World

beforeAll(async () => {
  world = await createWorld()
})

afterAll(() => world.end())

/** The two ways to speak: the world has both only once it is up. */
const SPEAKERS: readonly (readonly [string, Speak])[] = [
  ["raw HTTP", (leg, who) => world.raw(leg, who)],
  ["the official client", (leg, who) => world.official(leg, who)],
]

/** For every cause the same. */
const REFUSED = {
  kind: "refused",
  code: -32602,
  message: "Invalid or expired requestState",
  data: { reason: "invalid_request_state" },
}
const LAST_ROUND = 3
/** Each differs from Alice in one thing. */
const OTHERS: readonly Who[] = [
  { principal: "mallory" },
  { ...ALICE, tenant: "globex" },
  { ...ALICE, client: "another" },
]

function stateOf(told: Said): string {
  if (told.kind !== "asked") throw new Error(`A question was due, and it was ${JSON.stringify(told)}.`)
  return told.state
}

function statusOf(told: Said): string {
  return told.kind === "outcome" ? told.status : told.kind
}

async function ask(system: System, speak: Speak): Promise<{ called: Called; state: string }> {
  const called = await system.fresh(world)
  return { called, state: stateOf(await speak(called)) }
}

describe.each(SPEAKERS)("over %s", (_how, speak) => {
  describe.each(SYSTEMS)("$title", (system) => {
    const yes = accepting(system)

    it("asks first, and on accept takes effect once", async () => {
      const called = await system.fresh(world)
      const asked = await speak(called)
      expect(asked).toMatchObject({ kind: "asked", keys: [system.key] })
      expect(await system.effects(called, world)).toBe(0)
      const done = await speak({ ...called, state: stateOf(asked), answers: yes })
      expect(done).toMatchObject({ kind: "outcome", status: "completed", retryable: false, isError: false })
      expect(await system.effects(called, world)).toBe(1)
    })

    it.each([
      ["decline", "declined"],
      ["cancel", "cancelled"],
    ] as const)("does nothing on a %s, and says so", async (action, status) => {
      const { called, state } = await ask(system, speak)
      const no = await speak({ ...called, state, answers: refusing(system, action) })
      expect(no).toMatchObject({ kind: "outcome", status, retryable: false, isError: false })
      expect(await system.effects(called, world)).toBe(0)
    })

    it("refuses state that was tampered with", async () => {
      const { called, state } = await ask(system, speak)
      const flipped = [0, 20, 60, state.length - 1].map(
        (at) => state.slice(0, at) + (state[at] === "A" ? "B" : "A") + state.slice(at + 1),
      )
      for (const forged of [...flipped, state.slice(1), `${state}A`, "", "nonsense"]) {
        expect(await speak({ ...called, state: forged, answers: yes })).toEqual(REFUSED)
      }
      expect(await system.effects(called, world)).toBe(0)
    })

    it("refuses another user's state, and takes it from its own afterwards", async () => {
      const { called, state } = await ask(system, speak)
      for (const other of OTHERS) expect(await speak({ ...called, state, answers: yes }, other)).toEqual(REFUSED)
      expect(await system.effects(called, world)).toBe(0)
      expect(await speak({ ...called, state, answers: yes })).toMatchObject({ status: "completed" })
    })

    it("asks again for changed arguments: what was approved for others does not count", async () => {
      const { called, state } = await ask(system, speak)
      const changed = await system.otherwise(called, world)
      expect(await speak({ ...changed, state, answers: yes })).toEqual(REFUSED)
      expect(await system.effects(changed, world)).toBe(0)
      const anew = stateOf(await speak(changed))
      expect(await speak({ ...called, state: anew, answers: yes })).toEqual(REFUSED)
      expect(await system.effects(called, world)).toBe(0)
      expect(await speak({ ...changed, state: anew, answers: yes })).toMatchObject({ status: "completed" })
    })

    it("asks again for malformed answers, and then takes a good one", async () => {
      const malformed = [
        {},
        { [system.key]: null },
        { [system.key]: 7 },
        { [system.key]: [] },
        { [system.key]: system.good },
        { [system.key]: { action: "accept" } },
        { [system.key]: { action: "perhaps", content: system.good } },
        { another: { action: "accept", content: system.good } },
        ...system.bad.map((content) => accepting(system, content)),
      ]
      const { called, state } = await ask(system, speak)
      for (const answers of malformed) {
        const again = await speak({ ...called, state, answers })
        expect(again).toMatchObject({ kind: "asked", keys: [system.key] })
      }
      expect(await system.effects(called, world)).toBe(0)
      expect(await speak({ ...called, state, answers: yes })).toMatchObject({ status: "completed" })
    })

    it("stops after the last round", async () => {
      const first = await ask(system, speak)
      const { called } = first
      let { state } = first
      for (let round = 2; round <= LAST_ROUND; round += 1)
        state = stateOf(await speak({ ...called, state, answers: accepting(system, {}) }))
      expect(await speak({ ...called, state, answers: accepting(system, {}) })).toMatchObject({
        status: "rounds_exceeded",
        retryable: true,
        isError: true,
      })
      expect(await system.effects(called, world)).toBe(0)
    })
  })

  describe.each(OPERATIONS)("$title", (system) => {
    const yes = accepting(system)

    it("takes effect once for ten answers that race, and for every repeat", async () => {
      const { called, state } = await ask(system, speak)
      const leg = { ...called, state, answers: yes }
      const statuses = (await Promise.all(Array.from({ length: 10 }, () => speak(leg)))).map(statusOf)
      expect(statuses).toContain("completed")
      expect(await speak(leg)).toMatchObject({ status: system.repeated })
      expect(await system.effects(called, world)).toBe(1)
    })

    it("means a no, whatever is said afterwards", async () => {
      const { called, state } = await ask(system, speak)
      await speak({ ...called, state, answers: refusing(system, "decline") })
      expect(await speak({ ...called, state, answers: yes })).toMatchObject({
        status: "already_used",
        recorded: "declined",
        isError: true,
      })
      expect(await system.effects(called, world)).toBe(0)
    })

    it("does not take a no for what was done", async () => {
      const { called, state } = await ask(system, speak)
      await speak({ ...called, state, answers: yes })
      expect(await speak({ ...called, state, answers: refusing(system, "decline") })).toMatchObject({
        status: "already_used",
        recorded: "completed",
      })
    })

    it("counts answers without state for nothing", async () => {
      const called = await system.fresh(world)
      expect(await speak({ ...called, answers: yes })).toMatchObject({ kind: "asked", keys: [system.key] })
      expect(await system.effects(called, world)).toBe(0)
    })
  })

  it("incident_report has no effects: a repeat, and answers without state, get the same prompt", async () => {
    const { called, state } = await ask(INCIDENTS, speak)
    const first = await speak({ ...called, state, answers: accepting(INCIDENTS) })
    expect(await speak({ ...called, state, answers: accepting(INCIDENTS) })).toEqual(first)
    expect(await speak({ ...called, answers: accepting(INCIDENTS) })).toEqual(first)
    await speak({ ...called, state, answers: refusing(INCIDENTS, "decline") })
    expect(await speak({ ...called, state, answers: accepting(INCIDENTS) })).toEqual(first)
  })
})

describe.each(SYSTEMS)("over raw HTTP alone, $title", (system) => {
  it.each([null, [], [7], 7, "accept", true])("does nothing on answers that are no map: %j", async (inputResponses) => {
    const { called, state } = await ask(system, world.raw)
    const { method, target: name, arguments: sent } = called
    const token = await world.server.token(ALICE)
    const leg = encode({ token, method, name, ...(sent && { arguments: sent }), requestState: state })
    const message = JSON.parse(leg.body)
    const body = JSON.stringify({ ...message, params: { ...message.params, inputResponses } })
    const response = await fetch(world.server.url, { method: "POST", headers: leg.headers, body })
    expect(await response.text()).toMatch(/"input_required"|"code":-32602/)
    expect(await system.effects(called, world)).toBe(0)
    expect(await world.raw({ ...called, state, answers: accepting(system) })).toMatchObject({ status: "completed" })
  })
})

describe.each(SYSTEMS)("an official client of revision 2026-07-28 that answers by itself: $title", (system) => {
  it.each([
    ["accept", "completed", 1],
    ["decline", "declined", 0],
    ["cancel", "cancelled", 0],
  ] as const)("%s: %s", async (action, status, effects) => {
    const called = await system.fresh(world)
    const client = await connect(world.server, ALICE, "modern")
    const asked: unknown[] = []
    client.setRequestHandler("elicitation/create", async ({ params }) => {
      asked.push(params)
      return action === "accept" ? { action, content: system.good } : { action }
    })
    const told = await world.hear(said(client.request(requestOf(called))))
    await client.close()
    expect(asked).toHaveLength(1)
    expect(told).toMatchObject({ status, retryable: false, isError: false })
    expect(await system.effects(called, world)).toBe(effects)
  })
})

describe.each(SYSTEMS)("an official client of revision 2025-11-25: $title", (system) => {
  it("is asked in its session, once, and no state that it brings counts", async () => {
    const called = await system.fresh(world)
    const client = await connect(world.server, ALICE, "legacy")
    let asked = 0
    client.setRequestHandler("elicitation/create", async () => {
      asked += 1
      return { action: "accept", content: system.good }
    })
    const state = stateOf(await world.raw(called))
    const smuggled = client.request(requestOf({ ...called, state, answers: accepting(system) }))
    expect(await smuggled.then(JSON.stringify, String)).toContain("Invalid or expired requestState")
    expect(asked).toBe(0)
    expect(await system.effects(called, world)).toBe(0)

    const told = await world.hear(said(client.request(requestOf(called))))
    await client.close()
    expect(told).toMatchObject({ kind: "outcome", isError: false })
    expect(asked).toBe(1)
    expect(await system.effects(called, world)).toBe(1)
  })
})

describe("after a state's time", () => {
  const SECONDS = 3
  let brief: World

  beforeAll(async () => {
    brief = await createWorld({ STATE_TTL_SECONDS: String(SECONDS) })
  })

  afterAll(() => brief.end())

  it("no system takes it, whatever is answered; but what was done in time is told again", async () => {
    const asking = SYSTEMS.map(async (system) => {
      const [late, spent] = [await system.fresh(brief), await system.fresh(brief)]
      const [state, spentState] = [stateOf(await brief.raw(late)), stateOf(await brief.raw(spent))]
      const done = { ...spent, state: spentState, answers: accepting(system) }
      return { system, late: { ...late, state }, done, told: await brief.raw(done) }
    })
    const asked = await Promise.all(asking)
    await sleep(SECONDS * 1_000 + 100)
    for (const { system, late, done, told } of asked) {
      for (const answers of [accepting(system), refusing(system, "decline"), refusing(system, "cancel"), {}])
        for (const speak of [brief.raw, brief.official]) expect(await speak({ ...late, answers })).toEqual(REFUSED)
      expect(await system.effects(late, brief)).toBe(0)
      const again = await brief.raw(done)
      if (system === INCIDENTS) expect(again).toEqual(REFUSED)
      else if (system.repeated === "completed") expect(again).toEqual(told)
      else expect(again).toMatchObject({ status: "already_used", recorded: "completed" })
      expect(await system.effects(done, brief)).toBe(1)
    }
  })
})
