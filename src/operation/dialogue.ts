import { z } from "zod"
import type { Json } from "../brands.ts"
import { type Contents, SealError, type Sealed } from "../seal/index.ts"
import { type Asked, askedAlso, sameAsked } from "./asked.ts"
import type { Caller, Leg, LegEnd } from "./leg.ts"
import { DefinitionError } from "./mistake.ts"
import { type AnswerOf, type Question, type Reading, sealable } from "./question.ts"
import { type Report, report, tooLong } from "./report.ts"
import type { Rules } from "./rules.ts"

type Questions = Readonly<Record<string, Question<unknown>>>
type Answers<Asking> = { [Key in keyof Asking]: AnswerOf<Asking[Key]> }

/** Keys stand in logs, so they are names and nothing that a person wrote. */
const KEY = /^[A-Za-z][\w-]{0,63}$/

/** The answers so far, in the order in which the handler asks; `null` where one of several is missing. */
const Journal = z.array(z.json())

/**
 * An author's side of one leg: asks. Every method either gives what was asked for or ends the leg. What ends a leg never
 * settles, so nothing of the author's runs after it: no `catch` takes a question for an answer.
 */
export abstract class Dialogue {
  readonly caller: Caller
  protected readonly leg: Leg
  readonly #rules: Rules
  readonly #end: (end: LegEnd) => void
  readonly #journal: Json[]
  readonly #keys = new Set<string>()
  #position = 0
  /** Answers of this leg that count, and those that were not what was asked for. */
  #answers = 0
  #invalid = 0
  #busy = false
  #asked: Asked
  /** This leg's answers are still to be read; they belong to one step, the first that is not answered yet. */
  #expectsAnswers: boolean
  /** The handler has come to the step for which this leg's state was sealed, and it is still the same step. */
  #arrived = false

  /** @param trusting whether answers count on a leg without state, which shows nobody that a question was put */
  constructor(rules: Rules, asked: Asked, leg: Leg, end: (end: LegEnd) => void, trusting: boolean) {
    this.caller = leg.caller
    this.leg = leg
    this.#rules = rules
    this.#asked = rules.policyVersion ? askedAlso(asked, "policy", rules.policyVersion()) : asked
    this.#end = end
    this.#journal = Journal.parse(leg.verified?.contents.state ?? [])
    this.#expectsAnswers = leg.verified !== undefined || trusting
  }

  /** What a person's no makes of it all. */
  protected abstract refuse(by: "declined" | "cancelled"): Promise<LegEnd>
  /** Takes this leg's answers before they are acted on; an end where they come too late to count. */
  protected abstract takeAnswers(): Promise<LegEnd | undefined>
  /** What becomes of a dialogue that cannot go on, with nothing done. */
  protected abstract stop(report: Report): Promise<LegEnd>
  /** What becomes of state that was sealed for another step than the one that the handler has come to. */
  protected abstract change(): Promise<LegEnd>

  /**
   * Puts a question and gives its answer. A decline or a cancel ends the dialogue; a missing or invalid answer puts the
   * question again.
   *
   * @param key names the question; each key once
   */
  ask<Answer>(key: string, question: Question<Answer>): Promise<Answer> {
    return this.#step(async () => this.#recall(question, await this.#answered([[key, question]])))
  }

  /** Puts several questions together and gives all answers, by key. Those that are missing are put again, alone. */
  askAll<Asking extends Questions>(questions: Asking): Promise<Answers<Asking>> {
    return this.#step(async () => {
      const step = Object.entries(questions)
      const start = await this.#answered(step)
      const answers = step.map(async ([key, question], index) => [key, await this.#recall(question, start + index)])
      return Object.fromEntries(await Promise.all(answers)) as Answers<Asking>
    })
  }

  /**
   * Computes a value when it is first reached, and seals it: later legs get the very same value from verified state.
   * What an approval covers is pinned before it is asked for.
   *
   * @param key names the value; each key once
   */
  pin<Value extends Json>(
    key: string,
    schema: z.ZodType<Value>,
    compute: () => Value | Promise<Value>,
  ): Promise<Value> {
    return this.#step(async () => {
      this.#name(key)
      this.#asked = askedAlso(this.#asked, "pin", key)
      const position = this.#position
      this.#position += 1
      if (position >= this.#journal.length) this.#keep(position, this.#pinned(key, await compute()))
      const value = schema.safeParse(this.#journal[position])
      return value.success ? value.data : this.over(await this.change())
    })
  }

  /** Whether this leg's state, if it brought any, was sealed for a question that was put again. */
  protected arrivedWhereAsked(): boolean {
    return this.leg.verified === undefined || this.#arrived
  }

  /** Whether verified state stands behind a decision made here; without it the decision takes another leg. */
  protected async decided(): Promise<boolean> {
    if (!this.#arrived) this.#asked = askedAlso(this.#asked, "decide")
    if (this.leg.verified && !this.#arrived && !this.#arrive()) return this.over(await this.change())
    return this.#arrived
  }

  /** Sends state, with whatever questions, and ends the leg. */
  protected async suspend(requests: Extract<LegEnd, { kind: "ask" }>["requests"]): Promise<never> {
    const { verified, observe } = this.leg
    if (verified?.expired) return this.over({ kind: "refused", reason: "expired" })
    const before = verified?.contents
    const round = (before?.round ?? 0) + 1
    if (before && round > this.#rules.rounds) {
      return this.over(await this.stop(report("rounds_exceeded", before.operation)))
    }
    const sealed = await this.#seal(round, before)
    if (sealed) {
      const asks = Object.keys(requests)
      observe({ event: "round", operation: sealed.operation, round, asks, invalid: this.#invalid })
      return this.over({ kind: "ask", requests, state: sealed.token })
    }
    if (this.#answers > 0) return this.over(await this.stop(tooLong(before?.operation)))
    throw new DefinitionError(
      `What ${this.#rules.name} pins is longer than state can carry; keep it elsewhere and pin a handle.`,
    )
  }

  /** The state of the next round; none where it is too long. */
  async #seal(round: number, before: Contents | undefined): Promise<Sealed | undefined> {
    const { parts, binding } = this.leg
    const { timeoutSeconds, roundSeconds } = this.#rules
    const issuedAt = parts.now()
    const deadline = before?.deadline ?? issuedAt + timeoutSeconds * 1000
    try {
      return await parts.sealer.seal(binding, {
        ...(before && { operation: before.operation }),
        round,
        issuedAt,
        expiresAt: Math.min(issuedAt + (roundSeconds ?? parts.ttlSeconds) * 1000, deadline),
        deadline,
        home: before?.home ?? parts.home(),
        asked: this.#asked,
        state: this.#journal.length === 0 ? null : this.#journal,
      })
    } catch (error) {
      if (error instanceof SealError && error.code === "invalid_state") return undefined
      throw error
    }
  }

  protected over(end: LegEnd): Promise<never> {
    this.#end(end)
    return new Promise<never>(() => {})
  }

  /** Sees to it that every question of a step is answered, and gives the position of the first. */
  async #answered(step: [key: string, question: Question<unknown>][]): Promise<number> {
    const start = this.#position
    this.#position += step.length
    for (const [key, question] of step) this.#register(key, question)
    if (this.#isMissing(start, step.length) && this.#expectsAnswers) await this.#receive(step, start)
    const missing = step.filter((_, index) => this.#isMissing(start + index))
    if (missing.length === 0) return start
    return this.suspend(Object.fromEntries(missing.map(([key, { request }]) => [key, request])))
  }

  /** Runs one step: positions in the journal are given in order, so a second may not begin before the first is over. */
  async #step<Value>(take: () => Promise<Value>): Promise<Value> {
    if (this.#busy) {
      const together = "await each, or ask together with askAll"
      throw new DefinitionError(`${this.#rules.name} takes a step before the one before it is over; ${together}.`)
    }
    this.#busy = true
    try {
      return await take()
    } finally {
      this.#busy = false
    }
  }

  #pinned(key: string, value: unknown): Json {
    const json = z.json().safeParse(value)
    if (json.success) return json.data
    throw new DefinitionError(`The value that ${this.#rules.name} pins as ${key} is no JSON.`)
  }

  #name(key: string): void {
    if (!KEY.test(key)) {
      throw new DefinitionError(`A key of ${this.#rules.name} is not 1 to 64 letters, digits, _ or -, a letter first.`)
    }
    if (this.#keys.has(key)) throw new DefinitionError(`The key ${key} is used twice in ${this.#rules.name}.`)
    this.#keys.add(key)
  }

  #register(key: string, { request }: Question<unknown>): void {
    this.#name(key)
    this.#asked = askedAlso(this.#asked, "ask", key, JSON.stringify(request))
  }

  /** Reads this leg's answers to the questions of one step that have none yet. */
  async #receive(step: [key: string, question: Question<unknown>][], start: number): Promise<void> {
    this.#expectsAnswers = false
    if (this.leg.verified && !this.#arrive()) return this.over(await this.change())
    const { byKey } = this.leg.responses
    const readings: [position: number, key: string, reading: Reading<unknown>][] = []
    for (const [index, [key, question]] of step.entries()) {
      if (this.#isMissing(start + index)) readings.push([start + index, key, await question.read(byKey, key)])
    }
    if (readings.some(([, , { kind }]) => kind !== "unanswered")) {
      const end = await this.takeAnswers()
      if (end) return this.over(end)
    }
    for (const [position, key, reading] of readings) {
      switch (reading.kind) {
        case "answered":
          this.#answers += 1
          this.#keep(position, sealable(reading.answer))
          break
        case "declined":
        case "cancelled":
          return this.over(await this.refuse(reading.kind))
        case "unanswered":
          if (Object.hasOwn(byKey, key)) this.#invalid += 1
      }
    }
  }

  #keep(position: number, answer: Json): void {
    while (this.#journal.length < position) this.#journal.push(null)
    this.#journal[position] = answer
  }

  #isMissing(position: number, length = 1): boolean {
    const answers = this.#journal.slice(position, position + length)
    return answers.length < length || answers.includes(null)
  }

  async #recall<Answer>(question: Question<Answer>, position: number): Promise<Answer> {
    const answer = question.recall(this.#journal[position] ?? null)
    return answer === undefined ? this.over(await this.change()) : answer
  }

  #arrive(): boolean {
    this.#arrived = sameAsked(this.leg.verified?.contents.asked, this.#asked)
    return this.#arrived
  }
}
