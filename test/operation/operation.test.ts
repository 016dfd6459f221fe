import { describe, expect, it } from "vitest"
import { z } from "zod"
import type { Principal, TenantId } from "../../src/brands.ts"
import type { LedgerClient } from "../../src/ledger/index.ts"
import {
  done,
  type Effect,
  failed,
  form,
  InvalidArguments,
  inquiry,
  type OperationRules,
  operation,
  refused,
} from "../../src/operation/index.ts"
import { stage } from "./stage.ts"

const Approval = z.object({ approved: z.boolean() })
const Arguments = z.object({ name: z.string().optional() })

const OPTIONS: OperationRules & { input: typeof Arguments } = {
  name: "launch",
  input: Arguments,
  rounds: 3,
  timeoutSeconds: 600,
  replay: "result",
  leaseSeconds: 5,
  onLeaseEnd: "report",
}

/** Asks once and commits; `ran` counts what really happened. */
function launch(changes: Partial<OperationRules> = {}, effect?: Effect, question = "Launch?") {
  const counted = { ran: 0 }
  const definition = operation({ ...OPTIONS, ...changes }, async (op) => {
    const { approved } = await op.ask("approval", form(Approval, question))
    if (!approved) return op.decline("It stays on the ground.")
    return op.commit({
      effect: async (context) => {
        counted.ran += 1
        return effect ? effect(context) : done({ launched: context.idempotencyKey }, "It flies.")
      },
    })
  })
  return { definition, counted }
}

const yes = { approval: { action: "accept", content: { approved: true } } }
const no = { approval: { action: "accept", content: { approved: false } } }
const decline = { approval: { action: "decline" } }

describe("an operation", () => {
  it("asks, commits once under its id, and tells repeats from other answers", async () => {
    const { run, ask, report } = stage()
    const { definition, counted } = launch()
    const { state, requests } = await ask(definition)
    expect(requests).toMatchObject({ approval: { params: { mode: "form", message: "Launch?" } } })
    const first = await report(definition, { state, responses: yes })
    expect(first).toMatchObject({ status: "completed", data: { launched: first.operationId }, text: "It flies." })
    expect(await run(definition, { state, responses: yes })).toEqual({ kind: "report", report: first, phase: "record" })
    expect(await report(definition, { state, responses: no })).toMatchObject({
      status: "already_used",
      recorded: "completed",
    })
    expect(await report(definition, { state, responses: decline })).toMatchObject({ status: "already_used" })
    expect(counted.ran).toBe(1)
  })

  it("refuses an exact repeat where it says so, but not its own first answer", async () => {
    for (const responses of [yes, no, decline]) {
      const { ask, report } = stage()
      const { definition } = launch({ replay: "reject" })
      const { state } = await ask(definition)
      const first = await report(definition, { state, responses })
      expect(first.status).toBe(responses === yes ? "completed" : "declined")
      expect(await report(definition, { state, responses })).toMatchObject({
        status: "already_used",
        recorded: first.status,
      })
    }
  })

  it("reads an answer that means no as a decline, in the author's words", async () => {
    const { ask, report } = stage()
    const { definition, counted } = launch()
    const { state } = await ask(definition)
    const said = await report(definition, { state, responses: no })
    expect(said).toMatchObject({ status: "declined", retryable: false, text: "It stays on the ground." })
    expect(await report(definition, { state, responses: no })).toEqual(said)
    expect(counted.ran).toBe(0)
  })

  it("runs once for twenty racing legs", async () => {
    const { ask, report } = stage()
    const { definition, counted } = launch()
    const { state } = await ask(definition)
    const reports = await Promise.all(Array.from({ length: 20 }, () => report(definition, { state, responses: yes })))
    expect(counted.ran).toBe(1)
    const statuses = reports.map(({ status }) => status)
    expect(statuses).toContain("completed")
    expect(statuses.every((status) => status === "completed" || status === "in_progress")).toBe(true)
  })

  it("asks one question after another, each with the earlier answers sealed", async () => {
    const { ask, report } = stage()
    const names: string[] = []
    const christen = operation({ ...OPTIONS, name: "christen" }, async (op) => {
      const { name } = await op.ask("name", form(z.object({ name: z.string() }), "Which name?"))
      const { approved } = await op.ask("approval", form(Approval, `Call it ${name}?`))
      if (!approved) return op.decline("It has no name.")
      return op.commit({
        effect: async () => {
          names.push(name)
          return done({ name }, "It has a name.")
        },
      })
    })
    const first = await ask(christen)
    const second = await ask(christen, {
      state: first.state,
      responses: { name: { action: "accept", content: { name: "Ada" } } },
    })
    expect(second.requests).toMatchObject({ approval: { params: { message: "Call it Ada?" } } })
    expect(await report(christen, { state: second.state, responses: yes })).toMatchObject({ status: "completed" })
    expect(names).toEqual(["Ada"])
    const renamed = { ...yes, name: { action: "accept", content: { name: "Eve" } } }
    expect(await report(christen, { state: second.state, responses: renamed })).toMatchObject({
      status: "already_used",
    })
    // The first question's other branch meets the same record.
    const branch = await ask(christen, {
      state: first.state,
      responses: { name: { action: "accept", content: { name: "Bob" } } },
    })
    expect(await report(christen, { state: branch.state, responses: yes })).toMatchObject({ status: "already_used" })
    expect(names).toEqual(["Ada"])
  })
})

describe("an effect", () => {
  it("that throws leaves its outcome unknown, and never runs again under `report`", async () => {
    const { ask, report, events } = stage()
    const { definition, counted } = launch({ leaseSeconds: 1 }, async () => {
      throw new RangeError("secret of a person")
    })
    const { state } = await ask(definition)
    expect(await report(definition, { state, responses: yes })).toMatchObject({
      status: "outcome_unknown",
      retryable: false,
    })
    expect(await report(definition, { state, responses: yes })).toMatchObject({ status: "in_progress" })
    await new Promise((resolve) => setTimeout(resolve, 1_050))
    expect(await report(definition, { state, responses: yes })).toMatchObject({ status: "outcome_unknown" })
    expect(await report(definition, { state, responses: decline })).toMatchObject({
      status: "already_used",
      recorded: "outcome_unknown",
    })
    expect(counted.ran).toBe(1)
    expect(JSON.stringify(events)).toContain("RangeError")
    expect(JSON.stringify(events)).not.toContain("secret")
  })

  it("that throws runs again under `rerun` when its lease has ended, with the same key", async () => {
    const { ask, report } = stage()
    const keys: string[] = []
    const { definition } = launch({ leaseSeconds: 1, onLeaseEnd: "rerun" }, async ({ idempotencyKey }) => {
      keys.push(idempotencyKey)
      if (keys.length === 1) throw new Error("lost")
      return done({}, "It flies.")
    })
    const { state } = await ask(definition)
    expect(await report(definition, { state, responses: yes })).toMatchObject({
      status: "in_progress",
      retryable: true,
    })
    await new Promise((resolve) => setTimeout(resolve, 1_050))
    expect(await report(definition, { state, responses: yes })).toMatchObject({ status: "completed" })
    expect(new Set(keys).size).toBe(1)
    expect(keys).toHaveLength(2)
  })

  it("that could not begin gives the operation back", async () => {
    const { ask, report } = stage()
    let broken = true
    const { definition, counted } = launch({}, async () => (broken ? failed("No fuel.") : done({}, "It flies.")))
    const { state } = await ask(definition)
    expect(await report(definition, { state, responses: yes })).toMatchObject({
      status: "failed",
      retryable: true,
      text: "No fuel.",
    })
    broken = false
    expect(await report(definition, { state, responses: yes })).toMatchObject({ status: "completed" })
    expect(counted.ran).toBe(2)
  })

  it("that is refused for good is recorded so", async () => {
    const { ask, report } = stage()
    const { definition, counted } = launch({}, async () => refused("The pad is taken.", "Choose another pad."))
    const { state } = await ask(definition)
    const first = await report(definition, { state, responses: yes })
    expect(first).toMatchObject({ status: "failed", retryable: false, nextAction: "Choose another pad." })
    expect(await report(definition, { state, responses: yes })).toEqual(first)
    expect(counted.ran).toBe(1)
  })

  it("is told to stop before its lease ends", async () => {
    const { ask, report } = stage()
    const { definition } = launch({ leaseSeconds: 1 }, async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve))
      return failed("Stopped in time.")
    })
    const { state } = await ask(definition)
    expect(await report(definition, { state, responses: yes })).toMatchObject({ status: "failed", retryable: true })
  })

  it("is kept alive until its outcome is recorded, whoever hangs up", async () => {
    const kept: Promise<unknown>[] = []
    const { ask, run } = stage({ waitUntil: (work) => kept.push(work) })
    const { definition } = launch()
    const { state } = await ask(definition)
    await run(definition, { state, responses: yes })
    expect(kept).toHaveLength(1)
  })
})

describe("a definition that changed between two legs", () => {
  const changed = [
    launch({ version: "2" }),
    launch({ rounds: 2 }),
    launch({ timeoutSeconds: 60 }),
    launch({ onLeaseEnd: "rerun" }),
    launch({}, undefined, "Launch now?"),
    {
      definition: operation(OPTIONS, async (op) => op.commit({ effect: async () => done({}, "Unasked.") })),
      counted: { ran: 0 },
    },
  ]

  it.each(changed)("gives policy_changed, finally, and runs nothing (%#)", async ({ definition, counted }) => {
    const { ask, report } = stage()
    const { state } = await ask(launch().definition)
    const said = await report(definition, { state, responses: yes })
    expect(said).toMatchObject({ status: "policy_changed", retryable: true })
    expect(await report(launch().definition, { state, responses: yes })).toMatchObject({ status: "policy_changed" })
    expect(counted.ran).toBe(0)
  })

  it.each(changed)("yields to an outcome that was recorded before (%#)", async ({ definition }) => {
    const { ask, report } = stage()
    const { state } = await ask(launch().definition)
    const completed = await report(launch().definition, { state, responses: yes })
    expect(await report(definition, { state, responses: yes })).toEqual(completed)
  })
})

describe("an author's slip", () => {
  it("does not commit without verified state: the client comes back at once with state alone", async () => {
    const { ask, report } = stage()
    let ran = 0
    const direct = operation({ ...OPTIONS, name: "direct" }, async (op) =>
      op.commit({
        effect: async () => {
          ran += 1
          return done({}, "Done.")
        },
      }),
    )
    const { state, requests } = await ask(direct)
    expect(requests).toEqual({})
    expect(ran).toBe(0)
    const first = await report(direct, { state })
    expect(first).toMatchObject({ status: "completed" })
    expect(await report(direct, { state })).toEqual(first)
    expect(ran).toBe(1)
  })

  it("does not take a question for an answer in a catch", async () => {
    const { ask } = stage()
    let reached = false
    const careless = operation({ ...OPTIONS, name: "careless" }, async (op) => {
      await op.ask("approval", form(Approval, "May I?")).catch(() => ({ approved: true }))
      reached = true
      return op.commit({ effect: async () => done({}, "Done.") })
    })
    await ask(careless)
    expect(reached).toBe(false)
  })

  it("is said without quoting anybody", async () => {
    const { run, ask, report, events } = stage()
    const twice = operation({ ...OPTIONS, name: "twice" }, async (op) => {
      await op.ask("approval", form(Approval, "May I?"))
      await op.ask("approval", form(Approval, "Really?"))
      return op.commit({ effect: async () => done({}, "Done.") })
    })
    const { state } = await ask(twice)
    expect(await report(twice, { state, responses: yes })).toMatchObject({ status: "failed", retryable: true })
    const broken = operation({ ...OPTIONS, name: "broken" }, async () => {
      throw new RangeError("secret of a person")
    })
    await expect(run(broken)).rejects.toThrow("The server failed before anything was done.")
    const faults = events.filter(({ event }) => event === "fault")
    expect(faults).toMatchObject([
      { name: "twice", error: "DefinitionError", problem: "The key approval is used twice in twice." },
      { name: "broken", error: "RangeError" },
    ])
    expect(JSON.stringify(faults)).not.toContain("secret")
  })

  it("is a RangeError where a limit is out of range", () => {
    for (const wrong of [
      { rounds: 0 },
      { rounds: 21 },
      { timeoutSeconds: 86_401 },
      { leaseSeconds: 26 },
      { rounds: 1.5 },
    ]) {
      expect(() => launch(wrong)).toThrow(RangeError)
    }
  })
})

describe("arguments", () => {
  it("that cannot be sealed or do not fit are said to be so", async () => {
    const { run } = stage()
    const { definition } = launch()
    for (const sent of [{ name: 7 }, { name: "\ud800" }, { other: 2 ** 53 }, "text", []]) {
      await expect(run(definition, { arguments: sent })).rejects.toThrow(InvalidArguments)
    }
  })
})

describe("the ledger", () => {
  function counting(ledger: LedgerClient) {
    const calls: string[] = []
    const counted = new Proxy(ledger, {
      get: (target, verb: keyof LedgerClient) => {
        calls.push(verb)
        return target[verb]
      },
    })
    return { calls, counted }
  }

  it("is not called to ask, and twice to commit", async () => {
    const { calls, counted } = counting(stage().parts.ledger)
    const { ask, report } = stage({ ledger: counted })
    const { definition } = launch()
    const { state } = await ask(definition)
    await ask(definition, { state, responses: {} })
    expect(calls).toEqual([])
    await report(definition, { state, responses: yes })
    expect(calls).toEqual(["claim", "record"])
  })

  it("that cannot be reached leaves a state that can be sent again", async () => {
    const { parts } = stage()
    const down: LedgerClient = {
      ...parts.ledger,
      claim: async () => {
        throw new Error("unreachable")
      },
    }
    const { ask, report } = stage({ ledger: down })
    const { definition, counted } = launch()
    const { state } = await ask(definition)
    expect(await report(definition, { state, responses: yes })).toMatchObject({ status: "failed", retryable: true })
    expect(counted.ran).toBe(0)
  })
})

describe("state", () => {
  it("is bound to audience, method, target, tenant and principal of its request", async () => {
    const { ask, run } = stage()
    const { definition, counted } = launch()
    const { state } = await ask(definition)
    const caller = { tenant: "claim:globex" as TenantId, principal: "mallory" as Principal, scopes: new Set<string>() }
    for (const other of [
      { audience: "https://other.test/mcp" },
      { method: "prompts/get" as const },
      { target: "land" },
      { arguments: { name: "other" } },
      { arguments: undefined },
      { caller },
    ]) {
      expect(await run(definition, { state, responses: yes, ...other })).toMatchObject({ kind: "refused" })
    }
    expect(counted.ran).toBe(0)
  })

  it("is not good after the operation's own time, however long a round may live", async () => {
    let now = Date.now()
    const { ask, run } = stage({}, () => now)
    const { definition } = launch({ timeoutSeconds: 2 })
    const { state } = await ask(definition)
    now += 2_001
    expect(await run(definition, { state, responses: yes })).toEqual({ kind: "refused", reason: "expired" })
  })
})

describe("a client that went away", () => {
  it("before the claim gets nothing done", async () => {
    const { ask, run, report } = stage()
    const { definition, counted } = launch()
    const { state } = await ask(definition)
    const leg = run(definition, { state, responses: yes, signal: AbortSignal.abort() })
    const patience = new Promise((resolve) => setTimeout(resolve, 300, "nothing"))
    expect(await Promise.race([leg, patience])).toBe("nothing")
    expect(counted.ran).toBe(0)
    expect(await report(definition, { state, responses: yes })).toMatchObject({ status: "completed" })
  })
})

describe("an attempt that outlived its lease", () => {
  it("does not say that nothing happened: the one after it may have done it", async () => {
    const { ask, report } = stage()
    let run = 0
    const { definition } = launch({ leaseSeconds: 1, onLeaseEnd: "rerun" }, async () => {
      run += 1
      if (run > 1) return new Promise(() => {})
      await new Promise((resolve) => setTimeout(resolve, 1_600))
      return failed("Not now.")
    })
    const { state } = await ask(definition)
    const first = report(definition, { state, responses: yes })
    await new Promise((resolve) => setTimeout(resolve, 1_150))
    void report(definition, { state, responses: yes })
    expect(await first).toMatchObject({ status: "in_progress", retryable: true })
  })

  it("reports what the one after it recorded", async () => {
    const { ask, report } = stage()
    let run = 0
    const { definition } = launch({ leaseSeconds: 1, onLeaseEnd: "rerun" }, async () => {
      run += 1
      if (run > 1) return done({ run: 2 }, "The second.")
      await new Promise((resolve) => setTimeout(resolve, 1_600))
      return done({ run: 1 }, "The first.")
    })
    const { state } = await ask(definition)
    const first = report(definition, { state, responses: yes })
    await new Promise((resolve) => setTimeout(resolve, 1_150))
    expect(await report(definition, { state, responses: yes })).toMatchObject({ data: { run: 2 } })
    expect(await first).toMatchObject({ status: "completed", data: { run: 2 } })
  })
})

describe("a claim whose answer comes late", () => {
  it("begins no effect when its lease is over", async () => {
    const { parts } = stage()
    let calls = 0
    const slow: LedgerClient = {
      ...parts.ledger,
      claim: async (key, attempt) => {
        const answer = await parts.ledger.claim(key, attempt)
        calls += 1
        if (calls === 1) await new Promise((resolve) => setTimeout(resolve, 1_400))
        return answer
      },
    }
    for (const onLeaseEnd of ["rerun", "report"] as const) {
      calls = 0
      const { ask, report } = stage({ ledger: slow })
      const { definition, counted } = launch({ leaseSeconds: 1, onLeaseEnd })
      const { state } = await ask(definition)
      const late = await report(definition, { state, responses: yes })
      expect(late).toMatchObject({ status: "failed", retryable: true })
      expect(counted.ran).toBe(0)
      expect(await report(definition, { state, responses: yes })).toMatchObject({ status: "completed" })
      expect(counted.ran).toBe(1)
    }
  })
})

describe("after the last round", () => {
  it("what the operation came to is said, not that nothing was done", async () => {
    const { ask, report } = stage()
    const { definition } = launch({ rounds: 1 })
    const { state } = await ask(definition)
    expect(await report(definition, { state, responses: {} })).toMatchObject({ status: "rounds_exceeded" })
    await report(definition, { state, responses: yes })
    expect(await report(definition, { state, responses: {} })).toMatchObject({
      status: "already_used",
      retryable: false,
      recorded: "completed",
    })
  })
})

describe("branches", () => {
  const Choice = z.object({ choice: z.string() })

  it("are told apart by earlier answers alone, where questions and last answers are the same", async () => {
    const { ask, report } = stage()
    const two = operation({ ...OPTIONS, name: "two" }, async (op) => {
      await op.ask("choice", form(Choice, "Which?"))
      await op.ask("approval", form(Approval, "Sure?"))
      return op.commit({ effect: async () => done({}, "Done.") })
    })
    const { state } = await ask(two)
    const choose = (choice: string) =>
      ask(two, { state, responses: { choice: { action: "accept", content: { choice } } } })
    const [one, other] = [await choose("a"), await choose("b")]
    expect(await report(two, { state: one.state, responses: yes })).toMatchObject({ status: "completed" })
    expect(await report(two, { state: other.state, responses: yes })).toMatchObject({ status: "already_used" })
  })
})

describe("a deployment between two legs", () => {
  it("that renames a step ends what was asked under the old name", async () => {
    const { ask, report } = stage()
    const steps = (pinned: string, asked: string) =>
      operation({ ...OPTIONS, name: "steps" }, async (op) => {
        await op.pin(pinned, z.number(), () => 1)
        await op.ask(asked, form(Approval, "Sure?"))
        return op.commit({ effect: async () => done({}, "Done.") })
      })
    for (const renamed of [steps("fee", "approval"), steps("price", "consent")]) {
      const { state } = await ask(steps("price", "approval"))
      const responses = { ...yes, consent: yes.approval }
      expect(await report(renamed, { state, responses })).toMatchObject({ status: "policy_changed" })
    }
  })

  it("that puts the same questions in another order ends what was asked", async () => {
    const { ask, report } = stage()
    const inOrder = (...keys: string[]) =>
      operation({ ...OPTIONS, name: "order" }, async (op) => {
        for (const key of keys) await op.ask(key, form(Approval, `${key}?`))
        return op.commit({ effect: async () => done({}, "Done.") })
      })
    const answer = { action: "accept", content: { approved: true } }
    const { state } = await ask(inOrder("a", "b"))
    const responses = { a: answer, b: answer }
    expect(await report(inOrder("b", "a"), { state, responses })).toMatchObject({ status: "policy_changed" })
  })

  it("that takes other arguments ends what was asked, and still shows what was done", async () => {
    const { ask, report } = stage()
    const taking = (longest: number) =>
      operation({ ...OPTIONS, name: "taking", input: z.object({ n: z.string().max(longest) }) }, async (op) => {
        await op.ask("approval", form(Approval, "Sure?"))
        return op.commit({ effect: async () => done({}, "Done.") })
      })
    const call = { arguments: { n: "abcdef" } }
    const [first, second] = [await ask(taking(9), call), await ask(taking(9), call)]
    await report(taking(9), { ...call, state: first.state, responses: yes })
    const redeployed = taking(3)
    expect(await report(redeployed, { ...call, state: first.state, responses: yes })).toMatchObject({
      status: "completed",
    })
    expect(await report(redeployed, { ...call, state: second.state, responses: yes })).toMatchObject({
      status: "policy_changed",
    })
  })

  it("of an inquiry does not take the answer to one question for another's", async () => {
    const { runInquiry } = stage()
    const rules = { name: "look", input: z.object({}), rounds: 3, timeoutSeconds: 300 }
    const Place = z.object({ place: z.string() })
    const before = inquiry(rules, async (dialogue) => {
      await dialogue.ask("home", form(Place, "Where do you live?"))
      return (await dialogue.ask("work", form(Place, "Where do you work?"))).place
    })
    const after = inquiry(rules, async (dialogue) => (await dialogue.ask("secret", form(Place, "Delete what?"))).place)
    const answer = (key: string) => ({ [key]: { action: "accept", content: { place: "paris" } } })
    const asked = await runInquiry(before)
    const state = asked.kind === "ask" ? asked.state : undefined
    const next = await runInquiry(before, { state, responses: answer("home") })
    const later = next.kind === "ask" ? next.state : undefined
    expect(await runInquiry(after, { state: later, responses: answer("secret") })).toMatchObject({
      kind: "report",
      report: { status: "policy_changed" },
    })
  })

  it("that lost the key of stored results keeps the outcome, and runs nothing again", async () => {
    const before = stage()
    const { sealer } = before.parts
    const after = stage({ sealer })
    const { definition, counted } = launch()
    const { state } = await before.ask(definition)
    await before.report(definition, { state, responses: yes })
    expect(await after.report(definition, { state, responses: yes })).toMatchObject({
      status: "completed",
      data: { resultOmitted: true },
    })
    expect(counted.ran).toBe(1)
  })
})
