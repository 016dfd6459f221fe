import { describe, expect, it } from "vitest"
import { z } from "zod"
import { done, failed, form, type OperationDialogue, operation } from "../../src/operation/index.ts"
import { stage } from "./stage.ts"

const RULES = {
  name: "sign",
  input: z.object({ title: z.string().optional() }),
  rounds: 4,
  timeoutSeconds: 600,
  replay: "result",
  leaseSeconds: 5,
  onLeaseEnd: "report",
} as const
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
const traceparent = `00-${TRACE}-00f067aa0ba902b7-01`
const yes = { sign: { action: "accept", content: { text: "the answer of a person" } } }

const Text = z.object({ text: z.string() })

const sign = operation(RULES, async (op) => {
  await op.ask("sign", form(Text, "Sign?"))
  return op.commit({ effect: async () => done({}, "Signed.") })
})

describe("what an operator sees", () => {
  it("is one event a round and one an outcome, bound by the operation's id", async () => {
    const { ask, report, events } = stage()
    const { state } = await ask(sign)
    const asked = await ask(sign, { state, responses: { sign: { action: "accept", content: { text: 7 } } } })
    const { operationId: operation } = await report(sign, { state: asked.state, responses: yes })
    await report(sign, { state: asked.state, responses: yes })
    expect(events).toMatchObject([
      { event: "round", operation, round: 1, asks: ["sign"], invalid: 0 },
      { event: "round", operation, round: 2, asks: ["sign"], invalid: 1 },
      { event: "outcome", operation, round: 2, status: "completed", phase: "effect" },
      { event: "outcome", operation, round: 2, status: "completed", phase: "record" },
    ])
    expect(JSON.stringify(events)).not.toContain("person of")
    expect(JSON.stringify(events)).not.toContain("the answer")
  })

  it("recognises people and arguments without naming them", async () => {
    const { ask, events, parts } = stage()
    const bob = { tenant: "claim:acme", principal: "bob-the-principal", scopes: new Set() } as never
    await ask(sign, { arguments: { title: "a-title" } })
    await ask(sign, { arguments: { title: "a-title" } })
    await ask(sign, { arguments: { title: "another-title" } })
    await ask(sign, { arguments: { title: "a-title" }, caller: bob })
    const elsewhereBob = { tenant: "claim:globex", principal: "bob-the-principal", scopes: new Set() } as never
    await ask(sign, { arguments: { title: "a-title" }, caller: elsewhereBob })
    const [first, same, otherArguments, otherPerson, otherTenant] = events
    expect(otherTenant?.person).not.toBe(otherPerson?.person)
    expect(same).toMatchObject({ person: first?.person, arguments: first?.arguments })
    expect(otherArguments?.arguments).not.toBe(first?.arguments)
    expect(otherPerson?.person).not.toBe(first?.person)
    for (const hidden of ["alice", "bob", "title", parts.pseudonyms("person")]) {
      expect(JSON.stringify(events)).not.toContain(hidden)
    }
    const elsewhere = stage()
    await elsewhere.ask(sign, { arguments: { title: "a-title" } })
    expect(elsewhere.events[0]?.person).not.toBe(first?.person)
  })

  it("goes on in the caller's trace, and so does the effect", async () => {
    const { ask, report, events } = stage()
    const seen: (string | undefined)[] = []
    const traced = operation(RULES, async (op) => {
      await op.ask("sign", form(Text, "Sign?"))
      return op.commit({
        effect: async (context) => {
          seen.push(context.traceparent)
          return failed("Not now.")
        },
      })
    })
    const { state } = await ask(traced, { traceparent })
    await report(traced, { state, responses: yes, traceparent })
    await report(traced, { state, responses: yes })
    expect(seen).toEqual([traceparent, undefined])
    expect(events.map(({ trace }) => trace)).toEqual([TRACE, TRACE, undefined])
  })
})

describe("answers that no state can carry", () => {
  it("are said to be so, with nothing done, and what another branch did is said first", async () => {
    const { ask, report } = stage()
    const twice = operation(RULES, async (op) => {
      await op.ask("sign", form(Text, "Sign?"))
      await op.ask("sure", form(z.object({ sure: z.boolean() }), "Sure?"))
      return op.commit({ effect: async () => done({}, "Signed.") })
    })
    const long = { sign: { action: "accept", content: { text: "x".repeat(5_000) } } }
    const { state } = await ask(twice)
    expect(await report(twice, { state, responses: long })).toMatchObject({
      status: "failed",
      retryable: true,
      nextAction: "Call again without requestState, and answer more briefly.",
    })
    const short = await ask(twice, { state, responses: yes })
    const sure = { sure: { action: "accept", content: { sure: true } } }
    await report(twice, { state: short.state, responses: sure })
    expect(await report(twice, { state, responses: long })).toMatchObject({
      status: "already_used",
      recorded: "completed",
    })
  })

  it("are the author's mistake where they are pinned before anything was asked", async () => {
    const { run, events } = stage()
    const pinned = operation(RULES, async (op) => {
      await op.pin("all", z.string(), () => "x".repeat(5_000))
      await op.ask("sign", form(Text, "Sign?"))
      return op.commit({ effect: async () => done({}, "Signed.") })
    })
    await expect(run(pinned)).rejects.toThrow("The server failed before anything was done.")
    expect(events).toMatchObject([
      { problem: "What sign pins is longer than state can carry; keep it elsewhere and pin a handle." },
    ])
  })
})

describe("an author's mistake is said in full, and quotes nobody", () => {
  const mistakes: [string, (op: OperationDialogue) => Promise<unknown>, string][] = [
    ["a key that is none", (op) => op.ask("bob@secret.test", form(Text, "Sign?")), "A key of sign is not"],
    [
      "a pin that is no JSON",
      (op) => op.pin("when", z.any(), () => 10n),
      "The value that sign pins as when is no JSON.",
    ],
    [
      "two steps at once",
      (op) => Promise.all([op.ask("a", form(Text, "A?")), op.ask("b", form(Text, "B?"))]),
      "sign takes a step before the one before it is over; await each, or ask together with askAll.",
    ],
  ]

  it.each(mistakes)("%s", async (_what, slip, problem) => {
    const { run, events } = stage()
    const careless = operation(RULES, async (op) => {
      await slip(op)
      return op.commit({ effect: async () => done({}, "Signed.") })
    })
    await expect(run(careless)).rejects.toThrow("The server failed before anything was done.")
    expect(events[0]).toMatchObject({ event: "fault", problem: expect.stringContaining(problem) })
    expect(JSON.stringify(events)).not.toContain("secret")
  })

  it("and an error's name is logged where it looks like one", async () => {
    const { run, events } = stage()
    const broken = operation(RULES, async () => {
      throw Object.assign(new Error("x"), { name: "alice@secret.test" })
    })
    await expect(run(broken)).rejects.toThrow()
    expect(events).toMatchObject([{ error: "Error" }])
  })
})
