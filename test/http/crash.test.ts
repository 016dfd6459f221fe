import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { ask, createWorld, stopAt, type World } from "./crash/world.ts"
import { type ModelServer, startModelServer } from "./systems/model-server.ts"
import type { Called, Leg, Said } from "./systems/speakers.ts"

const POLICIES = ["report", "rerun"] as const

/** Between the claim, which is on disk, and the record, which is not; with how often the effect has happened there. */
const IN_BETWEEN = [
  ["claimed", 0],
  ["recheck", 0],
  ["effect", 0],
  ["happened", 1],
  ["record", 1],
] as const
/** From the arrival of the claim to the departure of the record's answer. */
const STEPS = ["claim", ...IN_BETWEEN.map(([step]) => step), "recorded"]

/** Longer than any lease here. */
const LEASE_OVER_SECONDS = 30
/** Longer than a state lives, which is 300 seconds. */
const STATE_OVER_SECONDS = 310

const accept = (key: string, content: object) => ({ [key]: { action: "accept", content } })
const LEFT = accept("choice", { choice: "left" })
const RIGHT = accept("choice", { choice: "right" })
const REGION = accept("region", { region: "eu-west-1" })
const PREFERENCES = accept("preferences", { processing_mode: "fast", language: "English", output_type: "one line" })
const REVEAL = accept("consent", { reveal: true })
const APPROVED = accept("approval", { approved: true })
const NO = { choice: { action: "decline" } }

/** What clients send about one operation after the Worker was killed, and what they hear. */
interface Story {
  /** While its lease lasts; when it is over; and when its state's time is over too. */
  readonly soon: readonly Leg[]
  readonly late: readonly Leg[]
  readonly last: readonly Leg[]
}

type Heard = { readonly [when in keyof Story]: readonly string[] }

let model: ModelServer
let world: World
const stories = new Map<string, Story>()
const heard = new Map<string, Heard>()

/** One crash, for which all operations have come to their steps; then two more, for the clock to go on. */
beforeAll(async () => {
  model = await startModelServer()
  world = await createWorld({ ...model.settings, PRICES: '{"one":30,"two":30}', BUDGETS: '{"one":50,"two":50}' })
  const steps = POLICIES.flatMap((policy) => STEPS.map((step) => stopCounted(policy, step)))
  await Promise.all([...steps, stopDecline("settle"), stopDecline("settled"), stopProducts()])
  stories.set("not answered in time", {
    soon: [],
    late: [],
    last: [await answered(tool("report", { label: "late" }), LEFT)],
  })

  await world.crash()
  const soon = await hearAll("soon")
  await world.crash(LEASE_OVER_SECONDS)
  const late = await hearAll("late")
  await world.crash(STATE_OVER_SECONDS)
  const last = await hearAll("last")
  for (const name of stories.keys())
    heard.set(name, { soon: soon.get(name) ?? [], late: late.get(name) ?? [], last: last.get(name) ?? [] })
})

afterAll(async () => {
  await world.end()
  model.stop()
})

function tool(target: string, sent: Record<string, string>): Called {
  return { method: "tools/call", target, arguments: sent }
}

/** A second leg, of a dialogue of its own. */
async function answered(called: Called, answers: Record<string, unknown>): Promise<Leg> {
  const { state } = await ask(world, called)
  return { ...called, state, answers }
}

/** Two operations whose effects are counted: one client says the same again, another contradicts itself first. */
async function stopCounted(policy: string, step: string): Promise<void> {
  for (const client of ["repeats", "contradicts"]) {
    const name = `${policy} ${step} ${client}`
    const same = await answered(tool(policy, { label: name }), LEFT)
    const other = { ...same, answers: RIGHT }
    await stopAt(world, step, same, name)
    stories.set(
      name,
      client === "repeats"
        ? { soon: [same], late: [same, same], last: [same] }
        : { soon: [other], late: [other, same, other], last: [other] },
    )
  }
}

async function stopDecline(step: string): Promise<void> {
  const no = await answered(tool("report", { label: step }), NO)
  await stopAt(world, step, no)
  stories.set(step, { soon: [{ ...no, answers: LEFT }], late: [no], last: [no] })
}

/** The product's own: a response is lost after the record, or the Worker is just before it. */
async function stopProducts(): Promise<void> {
  for (const [step, called, answers] of [
    ["recorded", tool("provision_database", { name: "kept" }), REGION],
    ["recorded", tool("create_project", { name: "kept", account: "one" }), APPROVED],
    ["recorded", tool("summarize_document", { document: "kept" }), PREFERENCES],
    ["recorded", connectionOf("kept"), REVEAL],
    ["record", tool("provision_database", { name: "made" }), REGION],
    ["record", tool("create_project", { name: "made", account: "two" }), APPROVED],
    ["record", tool("summarize_document", { document: "made" }), PREFERENCES],
    ["record", connectionOf("made"), REVEAL],
  ] as const) {
    const leg = await answered(called, answers)
    await stopAt(world, step, leg)
    stories.set(nameOf(called), { soon: [leg], late: [leg], last: [leg] })
  }
}

function connectionOf(name: string): Called {
  return { method: "resources/read", target: `waxseal://databases/${name}/connection` }
}

function nameOf({ target, arguments: sent }: Called): string {
  return [target, sent?.["name"] ?? sent?.["document"]].filter(Boolean).join(" ")
}

async function hearAll(when: keyof Story): Promise<Map<string, string[]>> {
  const all = new Map<string, string[]>()
  for (const [name, story] of stories) all.set(name, await hear(...story[when]))
  return all
}

/** Says legs one after another. */
async function hear(...legs: readonly Leg[]): Promise<string[]> {
  const all: string[] = []
  for (const leg of legs) all.push(inWords(await world.speak(leg)))
  return all
}

function inWords(told: Said): string {
  if (told.kind !== "outcome") return told.kind
  return [told.status, told.recorded, told.retryable ? "(again)" : undefined].filter(Boolean).join(" ")
}

const ONCE = { runs: 1, happened: 1 }

function effects(name: string) {
  return world.outside.effects(name)
}

describe.each(POLICIES)("killed under the policy `%s`", (policy) => {
  it("before the claim: nothing had happened, and any answer may be given", () => {
    const [repeats, contradicts] = [`${policy} claim repeats`, `${policy} claim contradicts`]
    expect(heard.get(repeats)).toEqual({
      soon: ["completed"],
      late: ["completed", "completed"],
      last: ["completed"],
    })
    expect(heard.get(contradicts)).toEqual({
      soon: ["completed"],
      late: ["completed", "already_used completed", "completed"],
      last: ["completed"],
    })
    expect([effects(repeats), effects(contradicts)]).toEqual([ONCE, ONCE])
  })

  it("after the record: it is as recorded, and other answers come too late", () => {
    const [repeats, contradicts] = [`${policy} recorded repeats`, `${policy} recorded contradicts`]
    expect(heard.get(repeats)).toEqual({
      soon: ["completed"],
      late: ["completed", "completed"],
      last: ["completed"],
    })
    expect(heard.get(contradicts)).toEqual({
      soon: ["already_used completed"],
      late: ["already_used completed", "completed", "already_used completed"],
      last: ["refused"],
    })
    expect([effects(repeats), effects(contradicts)]).toEqual([ONCE, ONCE])
  })
})

it.each(IN_BETWEEN)(
  "killed at `%s` under the policy `report`: never run again, and said to be unknown",
  (step, times) => {
    const [repeats, contradicts] = [`report ${step} repeats`, `report ${step} contradicts`]
    expect(heard.get(repeats)).toEqual({
      soon: ["in_progress (again)"],
      late: ["outcome_unknown", "outcome_unknown"],
      last: ["refused"],
    })
    expect(heard.get(contradicts)).toEqual({
      soon: ["already_used running"],
      late: ["already_used outcome_unknown", "outcome_unknown", "already_used outcome_unknown"],
      last: ["refused"],
    })
    for (const name of [repeats, contradicts]) expect(effects(name)).toEqual({ runs: times, happened: times })
  },
)

it.each(IN_BETWEEN)("killed at `%s` under the policy `rerun`: run again for the same answers alone", (step, times) => {
  const [repeats, contradicts] = [`rerun ${step} repeats`, `rerun ${step} contradicts`]
  expect(heard.get(repeats)).toEqual({
    soon: ["in_progress (again)"],
    late: ["completed", "completed"],
    last: ["completed"],
  })
  expect(heard.get(contradicts)).toEqual({
    soon: ["already_used running"],
    late: ["already_used running", "completed", "already_used completed"],
    last: ["refused"],
  })
  for (const name of [repeats, contradicts]) expect(effects(name)).toEqual({ runs: times + 1, happened: 1 })
})

describe("a no that was killed", () => {
  it("before it was recorded leaves a yes free", () => {
    expect(heard.get("settle")).toEqual({
      soon: ["completed"],
      late: ["already_used completed"],
      last: ["refused"],
    })
    expect(effects("settle")).toEqual(ONCE)
  })

  it("after it was recorded stays a no", () => {
    expect(heard.get("settled")).toEqual({
      soon: ["already_used declined"],
      late: ["declined"],
      last: ["declined"],
    })
    expect(effects("settled")).toEqual({ runs: 0, happened: 0 })
  })
})

describe("a response that was lost after the commit", () => {
  it.each(["provision_database kept", "create_project kept", "summarize_document kept"])(
    "is given to a repeat, at any time: %s",
    (name) => {
      expect(heard.get(name)).toEqual({ soon: ["completed"], late: ["completed"], last: ["completed"] })
    },
  )

  it("is not given again where it was a secret, which was not kept", () => {
    const used = ["already_used completed"]
    expect(heard.get(nameOf(connectionOf("kept")))).toEqual({ soon: used, late: used, last: used })
  })
})

describe("a system that was killed between its effect and the record", () => {
  it.each(["provision_database made", "create_project made", "summarize_document made"])(
    "is run again, and does not meet what it has done itself: %s",
    (name) => {
      expect(heard.get(name)).toEqual({ soon: ["in_progress (again)"], late: ["completed"], last: ["completed"] })
    },
  )

  it("does not show a secret a second time", () => {
    expect(heard.get(nameOf(connectionOf("made")))).toEqual({
      soon: ["in_progress (again)"],
      late: ["outcome_unknown"],
      last: ["refused"],
    })
  })
})

it("all that was killed made one thing each, and spent each budget once", async () => {
  expect(await world.created()).toEqual({ databases: ["kept", "made"], projects: ["kept", "made"] })
  for (const account of ["one", "two"]) {
    const another = await answered(tool("create_project", { name: `more in ${account}`, account }), APPROVED)
    expect(await hear(another)).toEqual(["failed"])
  }
  // A summary that is made again costs once more, which is all that a repeat of it can do.
  expect([model.timesAsked("kept"), model.timesAsked("made")]).toEqual([1, 2])
})

it("state that was not answered in time is refused", () => {
  expect(heard.get("not answered in time")?.last).toEqual(["refused"])
})

describe("the ledger's object", () => {
  it("is not called to ask, and twice to commit", async () => {
    const called = tool("report", { label: "counted" })
    const { state, operation } = await ask(world, called)
    await world.speak({ ...called, state, answers: {} })
    expect(world.outside.steps(operation)).toEqual([])
    expect(await hear({ ...called, state, answers: LEFT })).toEqual(["completed"])
    expect(world.outside.steps(operation)).toEqual(["claim", "claimed", "record", "recorded"])
  })

  // It aborts itself, which the runtime marks as a reset: the same call is made again, and is the same attempt.
  it.each([
    ["report", "claim", LEFT, "completed"],
    ["report", "claimed", LEFT, "completed"],
    ["report", "record", LEFT, "completed"],
    ["report", "recorded", LEFT, "completed"],
    ["rerun", "record", LEFT, "completed"],
    ["rerun", "recorded", LEFT, "completed"],
    ["rerun", "settled", NO, "declined"],
  ] as const)("under `%s`, when it crashes at `%s` alone, nobody notices", async (policy, step, answers, outcome) => {
    const label = `${policy} crashes at ${step}`
    const called = tool(policy, { label })
    const { state, operation } = await ask(world, called)
    world.outside.crash(step, operation)
    const leg = { ...called, state, answers }
    expect(await hear(leg, leg)).toEqual([outcome, outcome])
    expect(effects(label).runs).toBe(outcome === "completed" ? 1 : 0)
  })
})
