import { env } from "cloudflare:workers"
import { expect, vi } from "vitest"
import { sameBytes } from "../../src/ledger/claim.ts"
import { type BeginAnswer, type EndAnswer, type Ending, Ledger, type ReadAnswer } from "../../src/ledger/index.ts"
import {
  KeyedModel,
  type KeyedModelAnswer,
  type KeyedModelAttempt,
  type KeyedModelEnding,
  type KeyedModelResolution,
} from "./keyed-model.ts"

/** One of the claims given so far, counted from the last, used on its own key or on another. */
export interface GivenKeyed {
  readonly fromLast: number
  readonly elsewhere: string | undefined
}

export type KeyedCall =
  | { readonly verb: "begin"; readonly key: string; readonly by: KeyedModelAttempt }
  | { readonly verb: "end"; readonly given: GivenKeyed; readonly ending: KeyedModelEnding }
  | { readonly verb: "renew"; readonly given: GivenKeyed; readonly leaseSeconds: number }
  | { readonly verb: "resolve"; readonly key: string; readonly by: KeyedModelResolution }
  | { readonly verb: "read"; readonly key: string }

export type KeyedStep = "alarm" | "crash" | { readonly clockMoves: number } | { readonly calls: readonly KeyedCall[] }

/** The object and the model, side by side: both take every step, and their answers are compared. */
export class KeyedPair {
  readonly #ctx: DurableObjectState
  readonly #model = new KeyedModel()
  readonly #claims: { readonly key: string; readonly claim: Uint8Array }[] = []
  #ledger: Ledger
  #time: number

  constructor(ctx: DurableObjectState, began: number) {
    this.#ctx = ctx
    this.#time = began
    this.#ledger = new Ledger(ctx, env)
    vi.setSystemTime(began)
  }

  async take(step: KeyedStep): Promise<void> {
    if (step === "crash") this.#ledger = new Ledger(this.#ctx, env)
    else if (step === "alarm") {
      await this.#ledger.alarm()
      this.#model.sweep(this.#time)
    } else if ("clockMoves" in step) {
      this.#time += step.clockMoves
      vi.setSystemTime(this.#time)
    } else {
      const begun = step.calls.map((call) => this.#begin(call))
      for (const { answer, expected } of begun) expect(await answer()).toEqual(expected)
    }
  }

  /** Makes a call on both; the object's answer is waited for when every call of the step is made. */
  #begin(call: KeyedCall): { answer: () => Promise<KeyedModelAnswer>; expected: KeyedModelAnswer } {
    switch (call.verb) {
      case "begin": {
        const { input, attempt, rerun, ...limits } = call.by
        const answer = this.#ledger.begin(idOf(call.key), {
          ...limits,
          fingerprint: sixteen(input),
          attempt: sixteen(attempt),
          onLeaseEnd: rerun ? "rerun" : "report",
        })
        return {
          answer: async () => this.#numbered(call.key, await answer),
          expected: this.#model.begin(this.#time, call.key, call.by),
        }
      }
      case "end": {
        const { key, claim, number } = this.#given(call.given)
        const answer = this.#ledger.end(idOf(key), claim, endingOf(call.ending))
        return {
          answer: async () => plain(await answer),
          expected: this.#model.end(this.#time, key, number, call.ending),
        }
      }
      case "renew": {
        const { key, claim, number } = this.#given(call.given)
        const answer = this.#ledger.renew(idOf(key), claim, call.leaseSeconds)
        return {
          answer: async () => ({ ...(await answer) }),
          expected: this.#model.renew(this.#time, key, number, call.leaseSeconds),
        }
      }
      case "resolve": {
        const { attempt, call: number, ending } = call.by
        const resolution = { attempt, call: sixteen(100 + number), ending: endingOf(ending) }
        const answer = this.#ledger.resolve(idOf(call.key), resolution)
        return {
          answer: async () => ({ ...(await answer) }),
          expected: this.#model.resolve(this.#time, call.key, call.by),
        }
      }
      case "read": {
        const answer = this.#ledger.read(idOf(call.key))
        return { answer: async () => plain(answer), expected: this.#model.read(this.#time, call.key) }
      }
    }
  }

  #given({ fromLast, elsewhere }: GivenKeyed) {
    const number = this.#claims.length - 1 - fromLast
    const own = this.#claims[number]
    return { number, claim: own?.claim ?? new Uint8Array(20), key: elsewhere ?? own?.key ?? "none" }
  }

  /** The answer as the model gives it: claims are numbered in the order in which they are first seen. */
  #numbered(key: string, answer: BeginAnswer): KeyedModelAnswer {
    if (answer.status !== "claimed") return plain(answer)
    const known = this.#claims.findIndex(({ claim }) => sameBytes(claim, answer.claim))
    if (known < 0) this.#claims.push({ key, claim: answer.claim })
    return { ...answer, claim: known < 0 ? this.#claims.length - 1 : known }
  }
}

function idOf(key: string): Uint8Array {
  return new TextEncoder().encode(key.padEnd(32))
}

function sixteen(value: number): Uint8Array {
  return new Uint8Array(16).fill(value)
}

function endingOf({ end, body }: KeyedModelEnding): Ending {
  return end === "rerun" ? { outcome: end } : { outcome: end, body: body === undefined ? body : new Uint8Array(body) }
}

function plain(answer: BeginAnswer | EndAnswer | ReadAnswer): KeyedModelAnswer {
  return answer.status === "recorded" ? { ...answer, body: answer.body?.byteLength } : { ...answer }
}
