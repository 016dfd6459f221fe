import { abortAllDurableObjects } from "cloudflare:test"
import { afterEach, describe, expect, it, vi } from "vitest"
import { z } from "zod"
import type { LedgerClient } from "../../src/ledger/index.ts"
import { done, form, type LegEnd, operation } from "../../src/operation/index.ts"
import { stage } from "./stage.ts"

const POLICIES = ["report", "rerun"] as const
const LEASE_SECONDS = 5

/** The steps of a commit after its claim, with how often the effect has happened by then. */
const IN_BETWEEN = [
  ["recheck", 0],
  ["effect", 0],
  ["happened", 1],
] as const
const STEPS = ["claim", "recheck", "effect", "happened", "record", "recorded"] as const
type Step = (typeof STEPS)[number]

const yes = { approval: { action: "accept", content: { approved: true } } }
const no = { approval: { action: "accept", content: { approved: false } } }

afterEach(() => {
  vi.useRealTimers()
})

/** An operation that comes to one of its steps and stays there until it is told to go on. */
async function stopAt(step: Step, onLeaseEnd: (typeof POLICIES)[number]) {
  const { promise: reached, resolve: arrive } = Promise.withResolvers<void>()
  const { promise: told, resolve: goOn } = Promise.withResolvers<void>()
  let stopped = false
  const reach = async (here: Step) => {
    if (here !== step || stopped) return
    stopped = true
    arrive()
    await told
  }
  const { ledger } = stage().parts
  const stoppable: LedgerClient = {
    ...ledger,
    async claim(...call) {
      await reach("claim")
      return ledger.claim(...call)
    },
    async record(...call) {
      await reach("record")
      const answer = await ledger.record(...call)
      await reach("recorded")
      return answer
    },
  }
  const { ask, report, run } = stage({ ledger: stoppable })
  const made: string[] = []
  const rules = { rounds: 2, timeoutSeconds: 600, replay: "result", leaseSeconds: LEASE_SECONDS, onLeaseEnd } as const
  const definition = operation({ ...rules, name: "stopped", input: z.object({}) }, async (op) => {
    await op.ask("approval", form(z.object({ approved: z.boolean() }), "Go on?"))
    return op.commit({
      recheck: [() => reach("recheck").then(() => undefined)],
      effect: async ({ idempotencyKey }) => {
        await reach("effect")
        made.push(idempotencyKey)
        await reach("happened")
        return done({}, "Done.")
      },
    })
  })
  const { state } = await ask(definition)
  const leg = run(definition, { state, responses: yes })
  await reached
  return {
    made,
    goOn: (): Promise<LegEnd> => {
      goOn()
      return leg
    },
    send: (responses: object) => report(definition, { state, responses }),
  }
}

describe.each(POLICIES)("when the ledger's objects crash under the policy `%s`", (policy) => {
  it.each(STEPS)("at `%s`, a leg that goes on completes, once", async (step) => {
    const { made, goOn, send } = await stopAt(step, policy)
    await abortAllDurableObjects()
    expect(await goOn()).toMatchObject({ kind: "report", report: { status: "completed" } })
    expect(await send(yes)).toMatchObject({ status: "completed" })
    expect(await send(no)).toMatchObject({ status: "already_used", recorded: "completed" })
    expect(made).toHaveLength(1)
  })
})

describe("when a leg and the ledger's objects are gone", () => {
  /** The clock of the objects, which share this isolate, is past the lease. */
  async function endLease(): Promise<void> {
    await abortAllDurableObjects()
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + LEASE_SECONDS * 1_000 + 1 })
  }

  it.each(IN_BETWEEN)("at `%s`, `report` never runs again", async (step, times) => {
    const { made, send } = await stopAt(step, "report")
    await abortAllDurableObjects()
    expect(await send(yes)).toMatchObject({ status: "in_progress", retryable: true })
    await endLease()
    expect(await send(no)).toMatchObject({ status: "already_used", recorded: "outcome_unknown" })
    expect(await send(yes)).toMatchObject({ status: "outcome_unknown", retryable: false })
    expect(made).toHaveLength(times)
  })

  it.each(IN_BETWEEN)("at `%s`, `rerun` runs again with the same key, for the same answers", async (step, times) => {
    const { made, send } = await stopAt(step, "rerun")
    await abortAllDurableObjects()
    expect(await send(yes)).toMatchObject({ status: "in_progress", retryable: true })
    await endLease()
    expect(await send(no)).toMatchObject({ status: "already_used", recorded: "running" })
    expect(await send(yes)).toMatchObject({ status: "completed" })
    expect(made).toHaveLength(times + 1)
    expect(new Set(made).size).toBe(1)
  })
})
