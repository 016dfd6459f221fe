import { z } from "zod"
import type { Json } from "../brands.ts"
import { type Asked, askedAlso, sameAsked } from "./asked.ts"
import type { OperationRules } from "./define.ts"
import type { Effect } from "./effect.ts"
import type { Caller, Leg, LegEnd } from "./leg.ts"
import type { Question } from "./question.ts"
import { report } from "./report.ts"
import { Spending } from "./spending.ts"

/** The answers of earlier legs, in the order in which the handler asks. */
const Journal = z.array(z.json())

/**
 * An author's side of one operation. Every method either gives what was asked for or ends the leg. What ends a leg never
 * settles, so nothing of the author's runs after it: no `catch` takes a question for an answer, no second commit follows
 * the first.
 */
export class Dialogue {
  readonly caller: Caller
  readonly #rules: OperationRules
  readonly #leg: Leg
  readonly #end: (end: LegEnd) => void
  /** Absent on a first leg: an operation is spent only on the strength of verified state. */
  readonly #spending: Spending | undefined
  readonly #journal: Json[]
  readonly #keys = new Set<string>()
  #position = 0
  #asked: Asked
  /** The handler has come to the step for which this leg's state was sealed, and it is still the same step. */
  #arrived = false

  constructor(rules: OperationRules, asked: Asked, leg: Leg, end: (end: LegEnd) => void) {
    this.caller = leg.caller
    this.#rules = rules
    this.#leg = leg
    this.#end = end
    this.#asked = asked
    this.#spending = leg.verified && new Spending(rules, leg, leg.verified)
    this.#journal = Journal.parse(leg.verified?.contents.state ?? [])
  }

  /**
   * Puts a question and gives its answer. A decline or a cancel ends the operation; a missing or invalid answer puts the
   * question again.
   *
   * @param key names the question in this operation; each key once
   */
  async ask<Answer>(key: string, question: Question<Answer>): Promise<Answer> {
    if (this.#keys.has(key)) throw new TypeError(`The key ${key} is asked twice in ${this.#rules.name}.`)
    this.#keys.add(key)
    this.#asked = askedAlso(this.#asked, "ask", key, JSON.stringify(question.request))
    const earlier = this.#journal[this.#position]
    if (this.#spending && earlier !== undefined) {
      this.#position += 1
      return question.recall(earlier) ?? this.#changed(this.#spending)
    }
    if (this.#spending && !this.#arrived) {
      if (!this.#arrive()) return this.#changed(this.#spending)
      const reading = question.read(this.#leg.responses.byKey, key)
      switch (reading.kind) {
        case "answered":
          this.#journal.push(reading.sealed)
          this.#position += 1
          return reading.answer
        case "declined":
        case "cancelled":
          return this.#over(await this.#spending.settle(reading.kind))
        case "unanswered":
      }
    }
    return this.#suspend({ [key]: question.request })
  }

  /** Ends the operation without its effect: an answer that means no. */
  async decline(text: string): Promise<never> {
    const spending = await this.#decided()
    return this.#over(await spending.settle("declined", { text }))
  }

  /** Spends the operation and runs its effect, once, whatever is repeated or raced. */
  async commit(effect: Effect): Promise<never> {
    const spending = await this.#decided()
    const end = spending.commit(effect)
    this.#leg.parts.waitUntil(Promise.allSettled([end]))
    return this.#over(await end)
  }

  /**
   * The means to spend the operation, where verified state stands behind the decision. Without it the client gets state
   * and no question and comes back at once, so that the effect runs on a leg that can be repeated after a lost response.
   */
  async #decided(): Promise<Spending> {
    if (!this.#arrived) this.#asked = askedAlso(this.#asked, "commit")
    if (!this.#spending) return this.#suspend({})
    return this.#arrived || this.#arrive() ? this.#spending : this.#changed(this.#spending)
  }

  #arrive(): boolean {
    this.#arrived = sameAsked(this.#leg.verified?.contents.asked, this.#asked)
    return this.#arrived
  }

  async #changed(spending: Spending): Promise<never> {
    return this.#over(await spending.settle("policy_changed"))
  }

  async #suspend(requests: Extract<LegEnd, { kind: "ask" }>["requests"]): Promise<never> {
    const { verified, parts, binding } = this.#leg
    if (verified?.expired) return this.#over({ kind: "refused", reason: "expired" })
    const { name, rounds, timeoutSeconds } = this.#rules
    const before = verified?.contents
    const round = (before?.round ?? 0) + 1
    if (before && round > rounds) {
      return this.#over({ kind: "report", report: report("rounds_exceeded", before.operation) })
    }
    const issuedAt = parts.now()
    const deadline = before?.deadline ?? issuedAt + timeoutSeconds * 1000
    const { token, operation } = await parts.sealer.seal(binding, {
      ...(before && { operation: before.operation }),
      round,
      issuedAt,
      expiresAt: Math.min(issuedAt + parts.ttlSeconds * 1000, deadline),
      deadline,
      home: before?.home ?? parts.home(),
      asked: this.#asked,
      state: this.#journal.length === 0 ? null : this.#journal,
    })
    parts.observe({ event: "round", operation, name, round })
    return this.#over({ kind: "ask", requests, state: token })
  }

  #over(end: LegEnd): Promise<never> {
    this.#end(end)
    return new Promise<never>(() => {})
  }
}
