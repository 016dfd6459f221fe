import { env } from "cloudflare:workers"
import { expect, vi } from "vitest"
import { asClaim, sameBytes } from "../../src/ledger/claim.ts"
import {
  type AnswerAnswer,
  type Claim,
  type ClaimAnswer,
  Ledger,
  type LookupAnswer,
  type Outcome,
  type SettleAnswer,
} from "../../src/ledger/index.ts"
import type { RowKey } from "../../src/ledger/sealed-rows.ts"
import {
  Model,
  type ModelAnswer,
  type ModelAttempt,
  type ModelOperation,
  type ModelRound,
  type ModelSettlement,
} from "./model.ts"
import { fenceOf } from "./support.ts"

/** An operation of a sequence, whose deadline counts from the sequence's beginning. */
export interface Operation {
  readonly name: string
  readonly lasts: number
}

/** One of the claims given so far, counted from the last, used on its own operation or on another. */
export interface Given {
  readonly fromLast: number
  readonly elsewhere: Operation | undefined
}

export type Call =
  | { readonly verb: "claim"; readonly of: Operation; readonly by: ModelAttempt }
  | { readonly verb: "answer"; readonly of: Operation; readonly by: ModelRound }
  | { readonly verb: "settle"; readonly of: Operation; readonly by: ModelSettlement & { readonly outcome: Outcome } }
  | { readonly verb: "record"; readonly given: Given; readonly outcome: Outcome; readonly body?: number }
  | { readonly verb: "release"; readonly given: Given }
  | { readonly verb: "lookup"; readonly of: Operation; readonly input: number }

export type Step = "alarm" | "crash" | { readonly clockMoves: number } | { readonly calls: readonly Call[] }

const NEVER_GIVEN = asClaim(new Uint8Array(20))

/** The object and the model, side by side: both take every step, and their answers are compared. */
export class Pair {
  readonly #ctx: DurableObjectState
  readonly #began: number
  readonly #model = new Model()
  readonly #claims: { readonly operation: ModelOperation; readonly claim: Claim }[] = []
  /** Who holds each operation, from the answers alone: nobody else may get a claim, but to rerun. */
  readonly #holders = new Map<string, { readonly mayRerun: boolean }>()
  #ledger: Ledger
  #time: number

  constructor(ctx: DurableObjectState, began: number) {
    this.#ctx = ctx
    this.#began = began
    this.#time = began
    this.#ledger = new Ledger(ctx, env)
    vi.setSystemTime(began)
  }

  async take(step: Step): Promise<void> {
    if (step === "crash") this.#ledger = new Ledger(this.#ctx, env)
    else if (step === "alarm") {
      await this.#ledger.alarm()
      this.#model.sweep(this.#time)
    } else if ("clockMoves" in step) {
      this.#time += step.clockMoves
      vi.setSystemTime(this.#time)
    } else {
      const finish = step.calls.map((call) => this.#begin(call))
      for (const compare of finish) await compare()
    }
  }

  /** Makes a call on both, and returns what waits for the object's answer and compares. */
  #begin(call: Call): () => Promise<void> {
    switch (call.verb) {
      case "claim":
        return this.#claim(this.#operation(call.of), call.by)
      case "answer":
        return this.#answer(this.#operation(call.of), call.by)
      case "settle":
        return this.#settle(this.#operation(call.of), call.by)
      case "record":
        return this.#record(call.given, call.outcome, call.body)
      case "release":
        return this.#release(call.given)
      case "lookup":
        return this.#lookup(this.#operation(call.of), call.input)
    }
  }

  #claim(operation: ModelOperation, by: ModelAttempt) {
    const answer = this.#ledger.claim(rowOf(operation), {
      attempt: sixteen(by.attempt),
      fingerprint: sixteen(by.input),
      leaseSeconds: by.leaseSeconds,
      onLeaseEnd: by.rerun ? "rerun" : "report",
    })
    const expected = this.#model.claim(this.#time, operation, by)
    return async () => {
      const given = await answer
      expect(given.status === "claimed" ? this.#numbered(given) : plain(given)).toEqual(expected)
      if (given.status === "claimed") this.#hold(operation, by.rerun, given.claim)
    }
  }

  #answer(operation: ModelOperation, by: ModelRound) {
    const answer = this.#ledger.answer(rowOf(operation), { round: by.round, fingerprint: sixteen(by.input) })
    const expected = this.#model.answer(this.#time, operation, by)
    return async () => expect(plain(await answer)).toEqual(expected)
  }

  #settle(operation: ModelOperation, by: ModelSettlement & { readonly outcome: Outcome }) {
    const body = bodyOf(by.body)
    const answer = this.#ledger.settle(rowOf(operation), {
      call: new Uint8Array(6).fill(by.call),
      outcome: by.outcome,
      fingerprint: sixteen(by.input),
      ...(body && { body }),
    })
    const expected = this.#model.settle(this.#time, operation, by)
    return async () => {
      expect(plain(await answer)).toEqual(expected)
      if (expected.status === "settled") this.#holders.set(operation.name, { mayRerun: false })
    }
  }

  #record(given: Given, outcome: Outcome, body: number | undefined) {
    const { operation, claim, number } = this.#given(given)
    const answer = this.#ledger.record(rowOf(operation), claim, outcome, bodyOf(body))
    const expected = this.#model.record(this.#time, operation, number, outcome, body)
    return async () => {
      expect(await answer).toEqual(expected)
      if (expected.status === "done") this.#holders.set(operation.name, { mayRerun: false })
    }
  }

  #release(given: Given) {
    const { operation, claim, number } = this.#given(given)
    const answer = this.#ledger.release(rowOf(operation), claim)
    const expected = this.#model.release(this.#time, operation, number)
    return async () => {
      expect(await answer).toEqual(expected)
      if (expected.status === "done") this.#holders.delete(operation.name)
    }
  }

  #lookup(operation: ModelOperation, input: number) {
    const answer = this.#ledger.lookup(rowOf(operation), sixteen(input))
    const expected = this.#model.lookup(this.#time, operation, input)
    return async () => expect(plain(answer)).toEqual(expected)
  }

  #operation({ name, lasts }: Operation): ModelOperation {
    return { name, deadline: this.#began + lasts }
  }

  #given({ fromLast, elsewhere }: Given) {
    const number = this.#claims.length - 1 - fromLast
    const own = this.#claims[number]
    const operation = elsewhere ? this.#operation(elsewhere) : own?.operation
    return { number, claim: own?.claim ?? NEVER_GIVEN, operation: operation ?? { name: "none", deadline: this.#began } }
  }

  /** The answer as the model gives it: claims are numbered in the order in which they are first seen. */
  #numbered({ claim, leaseEndsAt, again }: ClaimAnswer & { status: "claimed" }): ModelAnswer {
    const known = this.#claims.findIndex((earlier) => sameBytes(earlier.claim, claim))
    const number = known < 0 ? this.#claims.length : known
    return { status: "claimed", leaseEndsAt, fence: fenceOf(claim), claim: number, again }
  }

  #hold(operation: ModelOperation, mayRerun: boolean, claim: Claim): void {
    if (this.#claims.some((earlier) => sameBytes(earlier.claim, claim))) return
    const holder = this.#holders.get(operation.name)
    expect(holder?.mayRerun).not.toBe(false)
    this.#holders.set(operation.name, holder ?? { mayRerun })
    this.#claims.push({ claim, operation })
  }
}

function rowOf({ name, deadline }: ModelOperation): RowKey {
  return { deadline, id: new TextEncoder().encode(name.padEnd(12)) }
}

function sixteen(value: number): Uint8Array {
  return new Uint8Array(16).fill(value)
}

function bodyOf(length: number | undefined): Uint8Array | undefined {
  return length === undefined ? undefined : new Uint8Array(length)
}

function plain(answer: AnswerAnswer | SettleAnswer | ClaimAnswer | LookupAnswer): ModelAnswer {
  return answer.status === "recorded" ? { ...answer, body: answer.body?.byteLength } : { ...answer }
}
