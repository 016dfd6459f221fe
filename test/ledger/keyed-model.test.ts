import { runInDurableObject } from "cloudflare:test"
import fc from "fast-check"
import { test, vi } from "vitest"
import type { KeyedModelEnding } from "./keyed-model.ts"
import { type GivenKeyed, type KeyedCall, KeyedPair, type KeyedStep } from "./keyed-pair.ts"
import { freshObject, HOUR, MINUTE, START, setClock } from "./support.ts"

const SEQUENCES = 2000
/** Sequences share an object and its storage; their records are over, swept or not, before the next begins. */
const APART = 13 * 24 * HOUR

const key = fc.constantFrom("one", "other")
const input = fc.nat({ max: 9 }).map((chance) => (chance === 0 ? 1 : 0))
const leaseSeconds = fc.constantFrom(1, 30, 900)
const retentionSeconds = fc.constantFrom(90, 4000, 90_000)
const by = fc.record({ attempt: fc.nat(2), input, rerun: fc.boolean(), leaseSeconds, retentionSeconds })
const ending: fc.Arbitrary<KeyedModelEnding> = fc.oneof(
  fc.record(
    { end: fc.constantFrom("completed" as const, "failed" as const), body: fc.nat(3) },
    { requiredKeys: ["end"] },
  ),
  fc.constant({ end: "rerun" as const }),
)
const given: fc.Arbitrary<GivenKeyed> = fc.record({
  fromLast: fc.nat(2),
  elsewhere: fc.option(key, { nil: undefined, freq: 1 }),
})
const resolution = fc.record({ attempt: fc.constantFrom(1, 1, 2), call: fc.nat(2), ending })

const change = fc.oneof<fc.MaybeWeightedArbitrary<KeyedCall>[]>(
  { weight: 3, arbitrary: fc.record({ verb: fc.constant("begin"), key, by }) },
  { weight: 2, arbitrary: fc.record({ verb: fc.constant("end"), given, ending }) },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant("renew"), given, leaseSeconds }) },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant("resolve"), key, by: resolution }) },
)
const read: fc.Arbitrary<KeyedCall> = fc.record({ verb: fc.constant("read"), key })
const aWhile = fc.constantFrom(1, 999, 30_000, MINUTE, 15 * MINUTE, HOUR, 24 * HOUR, -1, -MINUTE, -2 * HOUR)

const step = fc.oneof<fc.MaybeWeightedArbitrary<KeyedStep>[]>(
  { weight: 4, arbitrary: change.map((only) => ({ calls: [only] })) },
  { weight: 2, arbitrary: fc.array(change, { minLength: 2, maxLength: 4 }).map((calls) => ({ calls })) },
  { weight: 1, arbitrary: change.map((twice) => ({ calls: [twice, twice] })) },
  { weight: 2, arbitrary: read.map((only) => ({ calls: [only] })) },
  { weight: 3, arbitrary: aWhile.map((clockMoves) => ({ clockMoves })) },
  { weight: 1, arbitrary: fc.constant("alarm") },
  { weight: 1, arbitrary: fc.constant("crash") },
)

test(`${SEQUENCES} sequences of calls, clock steps, alarms and crashes: the object answers as its model does`, async () => {
  setClock(START)
  await runInDurableObject(freshObject(), async (_, ctx) => {
    // What is on disk is for the tests of crashes; waiting for it would take a minute here.
    vi.spyOn(ctx.storage, "sync").mockResolvedValue()
    let sequences = 0
    const property = fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const pair = new KeyedPair(ctx, START + APART * sequences++)
      for (const next of steps) await pair.take(next)
    })
    await fc.assert(property, { numRuns: SEQUENCES })
  })
}, 60_000)
