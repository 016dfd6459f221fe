import { runInDurableObject } from "cloudflare:test"
import fc from "fast-check"
import { test, vi } from "vitest"
import type { Outcome } from "../../src/ledger/index.ts"
import { type Call, type Given, type Operation, Pair, type Step } from "./pair.ts"
import { freshObject, HOUR, MINUTE, START, setClock } from "./support.ts"

const SEQUENCES = 2000
/** Sequences share an object and its storage, and lie too far apart in time to meet. */
const APART = 13 * 24 * HOUR

const of = fc.constantFrom<Operation>(
  { name: "short", lasts: MINUTE },
  { name: "long", lasts: 20 * MINUTE },
  { name: "twin", lasts: 20 * MINUTE },
)
const outcome = fc.constantFrom<Outcome>("completed", "failed", "declined")
const input = fc.nat(1)
const body = fc.nat(3)
const given: fc.Arbitrary<Given> = fc.record({
  fromLast: fc.nat(2),
  elsewhere: fc.option(of, { nil: undefined, freq: 1 }),
})
const by = fc.record({ attempt: fc.nat(2), input, rerun: fc.boolean(), leaseSeconds: fc.constantFrom(1, 30, 900) })
const settling = fc.record({ call: fc.nat(2), outcome, input, body }, { requiredKeys: ["call", "outcome", "input"] })

const change = fc.oneof<fc.Arbitrary<Call>[]>(
  fc.record({ verb: fc.constant("claim"), of, by }),
  fc.record({ verb: fc.constant("answer"), of, by: fc.record({ round: fc.integer({ min: 1, max: 3 }), input }) }),
  fc.record({ verb: fc.constant("settle"), of, by: settling }),
  fc.record({ verb: fc.constant("record"), given, outcome, body }, { requiredKeys: ["verb", "given", "outcome"] }),
  fc.record({ verb: fc.constant("release"), given }),
)
const lookup: fc.Arbitrary<Call> = fc.record({ verb: fc.constant("lookup"), of, input })
const aWhile = fc.constantFrom(1, 999, 30_000, MINUTE, 20 * MINUTE, HOUR, 2 * HOUR, -1, -MINUTE, -2 * HOUR, -9 * HOUR)

const step = fc.oneof<fc.MaybeWeightedArbitrary<Step>[]>(
  { weight: 4, arbitrary: change.map((only) => ({ calls: [only] })) },
  { weight: 2, arbitrary: fc.array(change, { minLength: 2, maxLength: 4 }).map((calls) => ({ calls })) },
  { weight: 1, arbitrary: change.map((twice) => ({ calls: [twice, twice] })) },
  { weight: 2, arbitrary: lookup.map((only) => ({ calls: [only] })) },
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
      const pair = new Pair(ctx, START + APART * sequences++)
      for (const next of steps) await pair.take(next)
    })
    await fc.assert(property, { numRuns: SEQUENCES })
  })
}, 60_000)
