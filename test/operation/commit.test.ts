import { describe, expect, it } from "vitest"
import { z } from "zod"
import type { LedgerClient } from "../../src/ledger/index.ts"
import { changed, denied, done, failed, form, operation, type Recheck } from "../../src/operation/index.ts"
import { stage } from "./stage.ts"

const Approval = z.object({ approved: z.boolean() })
const RULES = {
  name: "buy",
  input: z.object({}),
  rounds: 3,
  timeoutSeconds: 600,
  replay: "result",
  leaseSeconds: 5,
  onLeaseEnd: "report",
} as const
const yes = { approval: { action: "accept", content: { approved: true } } }

/** Pins a price that changes at every look, asks, looks again, and buys. */
function shop(recheck: readonly Recheck[] = [], rules: { policyVersion?: () => string; roundSeconds?: number } = {}) {
  const seen = { priced: 0, bought: [] as number[] }
  const buy = operation({ ...RULES, ...rules }, async (op) => {
    const price = await op.pin("price", z.number(), () => {
      seen.priced += 1
      return 10 * seen.priced
    })
    await op.ask("approval", form(Approval, `Buy for $${price}?`))
    return op.commit({
      recheck,
      effect: async () => {
        seen.bought.push(price)
        return done({ price }, "Bought.")
      },
    })
  })
  return { buy, seen }
}

describe("a pinned value", () => {
  it("is computed when it is first reached, and comes from the state afterwards", async () => {
    const { ask, report } = stage()
    const { buy, seen } = shop()
    const first = await ask(buy)
    const again = await ask(buy, { state: first.state, responses: {} })
    expect(again.requests).toEqual(first.requests)
    const { state } = again
    expect(await report(buy, { state, responses: yes })).toMatchObject({ status: "completed", data: { price: 10 } })
    expect(await report(buy, { state, responses: yes })).toMatchObject({ status: "completed", data: { price: 10 } })
    expect(seen).toEqual({ priced: 1, bought: [10] })
  })

  it("is part of what is approved: two states with two prices are two operations", async () => {
    const { ask, report } = stage()
    const { buy, seen } = shop()
    const [cheap, dear] = [await ask(buy), await ask(buy)]
    await report(buy, { state: dear.state, responses: yes })
    await report(buy, { state: cheap.state, responses: yes })
    expect(seen.bought).toEqual([20, 10])
  })

  it("that is no longer of its kind gives policy_changed", async () => {
    const { ask, report } = stage()
    const asking = (schema: z.ZodType<number | string>, value: number | string) =>
      operation(RULES, async (op) => {
        await op.pin("price", schema, () => value)
        await op.ask("approval", form(Approval, "Buy?"))
        return op.commit({ effect: async () => done({}, "Bought.") })
      })
    const { state } = await ask(asking(z.number(), 10))
    const redeployed = asking(z.string(), "ten")
    expect(await report(redeployed, { state, responses: yes })).toMatchObject({ status: "policy_changed" })
  })
})

describe("a recheck", () => {
  it("runs under the claim, in order, and the first objection is the outcome", async () => {
    const order: string[] = []
    const { ask, report } = stage()
    const looking =
      (name: string): Recheck =>
      async () => {
        order.push(name)
        return undefined
      }
    const { buy, seen } = shop([looking("first"), () => denied("No budget."), looking("never")])
    const { state } = await ask(buy)
    const first = await report(buy, { state, responses: yes })
    expect(first).toMatchObject({ status: "failed", retryable: false, text: "No budget." })
    expect(order).toEqual(["first"])
    expect(await report(buy, { state, responses: yes })).toEqual(first)
    expect(order).toEqual(["first"])
    expect(seen.bought).toEqual([])
  })

  it("that finds a change asks for a new approval, finally", async () => {
    const { ask, report } = stage()
    let price = 10
    const { buy, seen } = shop([() => (price === 10 ? undefined : changed("The price rose."))])
    const { state } = await ask(buy)
    price = 11
    expect(await report(buy, { state, responses: yes })).toMatchObject({ status: "policy_changed", retryable: true })
    price = 10
    expect(await report(buy, { state, responses: yes })).toMatchObject({ status: "policy_changed" })
    expect(seen.bought).toEqual([])
  })

  it("that cannot tell gives the operation back", async () => {
    const { ask, report } = stage()
    let down = true
    const { buy, seen } = shop([
      () => {
        if (down) throw new Error("unreachable")
        return undefined
      },
    ])
    const { state } = await ask(buy)
    expect(await report(buy, { state, responses: yes })).toMatchObject({ status: "failed", retryable: true })
    down = false
    expect(await report(buy, { state, responses: yes })).toMatchObject({ status: "completed" })
    expect(seen.bought).toEqual([10])
  })
})

describe("rules", () => {
  it("a policy version that changed in between ends the dialogue", async () => {
    const { ask, report } = stage()
    let version = "1"
    const { buy, seen } = shop([], { policyVersion: () => version })
    const { state } = await ask(buy)
    version = "2"
    expect(await report(buy, { state, responses: yes })).toMatchObject({ status: "policy_changed" })
    version = "1"
    expect(await report(buy, { state, responses: yes })).toMatchObject({ status: "policy_changed" })
    expect(seen.bought).toEqual([])
  })

  it("a round's life may be the operation's own", async () => {
    let now = Date.now()
    const clock = () => now
    const { ask, run } = stage({}, clock)
    const { buy } = shop([], { roundSeconds: 5 })
    const { state } = await ask(buy)
    now += 5_001
    expect(await run(buy, { state, responses: yes })).toEqual({ kind: "refused", reason: "expired" })
  })

  it("an operation may be cancelled by its author", async () => {
    const { ask, report } = stage()
    const stop = operation(RULES, async (op) => {
      await op.ask("approval", form(Approval, "Buy?"))
      return op.cancel("Nobody wants it any more.")
    })
    const { state } = await ask(stop)
    expect(await report(stop, { state, responses: yes })).toMatchObject({
      status: "cancelled",
      text: "Nobody wants it any more.",
    })
  })
})

describe("an attempt after one that vanished", () => {
  const RERUN = { ...RULES, onLeaseEnd: "rerun", leaseSeconds: 1 } as const
  const leaseEnd = () => new Promise((resolve) => setTimeout(resolve, 1_050))

  it("does not take what the first one did for an objection", async () => {
    const { ask, report } = stage()
    const made = new Set<string>()
    const buy = operation(RERUN, async (op) => {
      await op.ask("approval", form(Approval, "Buy?"))
      return op.commit({
        recheck: [({ again }) => (again || made.size === 0 ? undefined : denied("No budget."))],
        effect: async ({ idempotencyKey }) => {
          const isFirst = made.size === 0
          made.add(idempotencyKey)
          if (isFirst) throw new Error("lost on the way back")
          return done({}, "Bought.")
        },
      })
    })
    const { state } = await ask(buy)
    expect(await report(buy, { state, responses: yes })).toMatchObject({ status: "in_progress", retryable: true })
    await leaseEnd()
    expect(await report(buy, { state, responses: yes })).toMatchObject({ status: "completed" })
    expect(made.size).toBe(1)
  })

  it.each([
    ["is not allowed any more", () => denied("Not allowed.")],
    ["would pay another price", () => changed("The price rose.")],
  ])("that %s begins no effect, and says that the outcome is unknown", async (_what, object) => {
    const { ask, report } = stage()
    let objects = false
    let ran = 0
    const buy = operation(RERUN, async (op) => {
      await op.ask("approval", form(Approval, "Buy?"))
      return op.commit({
        recheck: [() => (objects ? object() : undefined)],
        effect: async () => {
          ran += 1
          if (ran === 1) throw new Error("lost on the way back")
          return done({}, "Bought.")
        },
      })
    })
    const { state } = await ask(buy)
    await report(buy, { state, responses: yes })
    await leaseEnd()
    objects = true
    expect(await report(buy, { state, responses: yes })).toMatchObject({ status: "outcome_unknown", retryable: false })
    expect(ran).toBe(1)
    objects = false
    expect(await report(buy, { state, responses: yes })).toMatchObject({ status: "completed" })
    expect(ran).toBe(2)
  })

  it("runs nothing where the first one's denial could not be recorded", async () => {
    const { parts } = stage()
    let broken = true
    const ledger: LedgerClient = {
      ...parts.ledger,
      async record(...args) {
        if (broken) throw new Error("out of reach")
        return parts.ledger.record(...args)
      },
    }
    const { ask, report } = stage({ ledger })
    let ran = 0
    const buy = operation(RERUN, async (op) => {
      await op.ask("approval", form(Approval, "Buy?"))
      return op.commit({
        recheck: [() => denied("You may not, ever.")],
        effect: async () => {
          ran += 1
          return done({}, "Bought.")
        },
      })
    })
    const { state } = await ask(buy)
    await report(buy, { state, responses: yes })
    broken = false
    await leaseEnd()
    await report(buy, { state, responses: yes })
    expect(ran).toBe(0)
  })

  it("cannot say that nothing happened, and gives the operation to nobody else", async () => {
    const { ask, report } = stage()
    let run = 0
    const buy = operation(RERUN, async (op) => {
      await op.ask("approval", form(Approval, "Buy?"))
      return op.commit({
        effect: async () => {
          run += 1
          if (run === 1) throw new Error("lost on the way back")
          return run === 2 ? failed("Not now.") : done({}, "Bought.")
        },
      })
    })
    const { state } = await ask(buy)
    await report(buy, { state, responses: yes })
    await leaseEnd()
    expect(await report(buy, { state, responses: yes })).toMatchObject({ status: "in_progress", retryable: true })
    const no = { approval: { action: "decline" } }
    expect(await report(buy, { state, responses: no })).toMatchObject({ status: "already_used", recorded: "running" })
    expect(await report(buy, { state, responses: yes })).toMatchObject({ status: "completed" })
  })
})
