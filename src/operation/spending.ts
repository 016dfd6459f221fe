import { sha256 } from "@noble/hashes/sha2.js"
import type { OperationId } from "../brands.ts"
import { errorName } from "../error-name.ts"
import type { Claim, ClaimAnswer, Outcome, Recorded, RecordKey, Unsettled } from "../ledger/index.ts"
import { type Contents, canonicalJson, pae, SealError } from "../seal/index.ts"
import type { Commitment, Effect, EffectResult, Objection, Recheck } from "./effect.ts"
import type { Leg, LegEnd, Phase, RuntimeParts, Verified } from "./leg.ts"
import {
  alreadyAnswered,
  alreadyUsed,
  type Report,
  report,
  reportWithoutResult,
  SEND_AGAIN,
  StoredReport,
} from "./report.ts"
import type { OperationRules } from "./rules.ts"

type Claimed = Extract<ClaimAnswer, { status: "claimed" }>

/** The effect is told to stop when this share of its lease is left, so that it ends before another may begin. */
const MARGIN = 0.1

/**
 * Spends one operation: claims it, runs the effect, records the outcome, and tells repeats from other tries.
 *
 * Invariant: the effect runs only between a granted claim and the end of its lease, and only for verified state that is
 * not expired. Expired state looks up, and nothing else.
 */
export class Spending {
  readonly #rules: OperationRules
  readonly #parts: RuntimeParts
  readonly #leg: Leg
  readonly #contents: Contents
  readonly #id: OperationId
  readonly #key: RecordKey
  readonly #fingerprint: Uint8Array
  readonly #expired: boolean

  constructor(rules: OperationRules, leg: Leg, verified: Verified) {
    const { contents, expired } = verified
    this.#rules = rules
    this.#parts = leg.parts
    this.#leg = leg
    this.#contents = contents
    this.#id = contents.operation
    this.#key = {
      tenant: leg.binding.tenant,
      operation: contents.operation,
      deadline: contents.deadline,
      home: contents.home,
    }
    this.#fingerprint = fingerprint(contents, leg.responses.canonical)
    this.#expired = expired
  }

  /** Records an end that has no effect, unless the operation has an outcome or an owner. */
  async settle(outcome: "declined" | "cancelled" | "policy_changed", said?: { text: string }): Promise<LegEnd> {
    if (this.#expired) return this.#lookUp()
    const mine = report(outcome, this.#id, said)
    const answer = await this.#parts.ledger.settle(this.#key, outcome, this.#fingerprint, await this.#stored(mine))
    return answer.status === "settled" ? ended(mine, "ask") : this.#standing(answer)
  }

  /** Ends a dialogue that did nothing and records nothing; what another of its states came to is said first. */
  async stop(mine: Report): Promise<LegEnd> {
    const standing = await this.#parts.ledger.lookup(this.#key, this.#fingerprint)
    return standing.status === "absent" ? ended(mine, "ask") : this.#standing(standing)
  }

  /** Takes the answer to a strict round; an end where another one counts already, or the operation is spent. */
  async answer(): Promise<LegEnd | undefined> {
    if (this.#expired) return this.#lookUp()
    const { round } = this.#contents
    const answer = await this.#parts.ledger.answer(this.#key, { round, fingerprint: this.#fingerprint })
    switch (answer.status) {
      case "passed":
        return undefined
      case "already_used":
        return ended(alreadyAnswered(this.#id), "record")
      case "recorded":
      case "running":
      case "unknown":
      case "late":
        return this.#standing(answer)
    }
  }

  /** Claims the operation, runs the effect and records what came of it; or says what stands in the record. */
  async commit(commitment: Commitment): Promise<LegEnd> {
    if (this.#expired) return this.#lookUp()
    const { leaseSeconds, onLeaseEnd } = this.#rules
    // From before the claim: its answer may be late, and the lease that it grants is then partly over.
    const signal = AbortSignal.timeout(leaseSeconds * 1000 * (1 - MARGIN))
    const answer = await this.#parts.ledger.claim(this.#key, {
      attempt: this.#parts.random(new Uint8Array(16)),
      fingerprint: this.#fingerprint,
      leaseSeconds,
      onLeaseEnd,
    })
    return answer.status === "claimed" ? this.#run(commitment, answer, signal) : this.#standing(answer)
  }

  /**
   * Invariant: every attempt looks again, and where one objects no effect begins. Where an earlier attempt vanished
   * (`again`), its effect may have happened: an objection then ends this attempt and is no outcome, and nothing is said
   * not to have happened.
   */
  async #run({ recheck = [], effect }: Commitment, { claim, again }: Claimed, signal: AbortSignal): Promise<LegEnd> {
    const objection = await this.#objection(recheck, again)
    if (objection && again) return ended(await this.#giveBackUnknown(claim, objection), "recheck")
    if (objection === "unknown") {
      return ended(await this.#release(claim, "It could not be checked. Nothing was done."), "recheck")
    }
    if (objection) {
      const { status, text } = objection
      return ended(await this.#finish(claim, status, report(status, this.#id, { text })), "recheck")
    }
    // Invariant: no effect begins when its lease is as good as over, for another attempt may begin then.
    if (!signal.aborted) return ended(await this.#act(effect, claim, again, signal), "effect")
    const released = again
      ? this.#releaseAgain(claim)
      : this.#release(claim, "It took too long to begin. Nothing was done.")
    return ended(await released, "recheck")
  }

  async #act(effect: Effect, claim: Claim, again: boolean, signal: AbortSignal): Promise<Report> {
    const { traceparent } = this.#leg
    try {
      const result = await effect({ idempotencyKey: this.#id, traceparent, signal })
      return result.kind === "failed" && again ? await this.#releaseAgain(claim) : await this.#record(claim, result)
    } catch (error) {
      this.#fault(error)
      return report(this.#rules.onLeaseEnd === "report" ? "outcome_unknown" : "in_progress", this.#id)
    }
  }

  async #releaseAgain(claim: Claim): Promise<Report> {
    await this.#parts.ledger.release(this.#key, claim)
    return report("in_progress", this.#id, { text: "An attempt was begun, and its outcome is not known yet." })
  }

  /** The operation stays with its input: it may run once nothing is held against it any more. */
  async #giveBackUnknown(claim: Claim, objection: Objection | "unknown"): Promise<Report> {
    await this.#parts.ledger.release(this.#key, claim)
    if (objection === "unknown") return report("in_progress", this.#id, { text: "It could not be checked." })
    const text = `${report("outcome_unknown", this.#id).text} No other may begin now.`
    return report("outcome_unknown", this.#id, { text })
  }

  async #objection(rechecks: readonly Recheck[], again: boolean): Promise<Objection | "unknown" | undefined> {
    try {
      for (const recheck of rechecks) {
        const objection = await recheck({ again })
        if (objection) return objection
      }
      return undefined
    } catch (error) {
      this.#fault(error)
      return "unknown"
    }
  }

  async #record(claim: Claim, result: EffectResult): Promise<Report> {
    switch (result.kind) {
      case "done": {
        const { data, text, stores } = result
        return this.#finish(claim, "completed", report("completed", this.#id, { data, text }), stores)
      }
      case "refused":
        return this.#finish(
          claim,
          "failed",
          report("failed", this.#id, { text: result.text, nextAction: result.nextAction }),
        )
      case "failed":
        return this.#release(claim, result.text)
    }
  }

  /** Gives the operation back: sure that nothing happened. */
  async #release(claim: Claim, text: string): Promise<Report> {
    const answer = await this.#parts.ledger.release(this.#key, claim)
    // Somebody else owns the operation: what this attempt did not do, theirs may.
    if (answer.status === "superseded") return report("in_progress", this.#id)
    return report("failed", this.#id, { retryable: true, text, nextAction: SEND_AGAIN })
  }

  async #finish(claim: Claim, outcome: Outcome, mine: Report, stores = "result"): Promise<Report> {
    const body = stores === "result" ? await this.#stored(mine) : undefined
    const answer = await this.#parts.ledger.record(this.#key, claim, outcome, body)
    if (answer.status === "done") return mine
    // The lease ended and somebody else owns the operation or has settled it: their record is the truth.
    const standing = await this.#parts.ledger.lookup(this.#key, this.#fingerprint)
    return standing.status === "recorded" ? this.#replay(standing) : report("in_progress", this.#id)
  }

  async #standing(answer: Exclude<ClaimAnswer, { status: "claimed" }>): Promise<LegEnd> {
    switch (answer.status) {
      case "recorded": {
        const repeats = answer.sameInput && this.#rules.replay === "result"
        return ended(repeats ? await this.#replay(answer) : alreadyUsed(this.#id, answer.outcome), "record")
      }
      case "running":
      case "unknown":
        return ended(this.#unsettled(answer), "record")
      case "late":
        return { kind: "refused", reason: "expired" }
    }
  }

  #unsettled(answer: Unsettled): Report {
    const running = answer.status === "running"
    if (!answer.sameInput) return alreadyUsed(this.#id, running ? "running" : "outcome_unknown")
    return report(running ? "in_progress" : "outcome_unknown", this.#id)
  }

  /** Past its time, an authentic state shows the outcome to an exact repeat, and to nobody else. */
  async #lookUp(): Promise<LegEnd> {
    const standing = await this.#parts.ledger.lookup(this.#key, this.#fingerprint)
    if (standing.status !== "recorded" || !standing.sameInput) return { kind: "refused", reason: "expired" }
    return this.#standing(standing)
  }

  async #replay({ outcome, body }: Recorded): Promise<Report> {
    const opened = body && (await this.#parts.results.open(this.#box(), body))
    const stored = StoredReport.safeParse(opened?.ok ? opened.result : undefined)
    return stored.success ? report(outcome, this.#id, stored.data) : reportWithoutResult(outcome, this.#id)
  }

  /** The report in its box; none where it cannot be stored, being too large: its outcome is recorded without it. */
  async #stored({ retryable, nextAction, text, data }: Report): Promise<Uint8Array | undefined> {
    try {
      return await this.#parts.results.seal(this.#box(), { retryable, nextAction, text, data })
    } catch (error) {
      if (error instanceof SealError && error.code === "invalid_result") return undefined
      throw error
    }
  }

  #fault(error: unknown): void {
    this.#leg.observe({ event: "fault", error: errorName(error) })
  }

  #box() {
    return { tenant: this.#key.tenant, operation: this.#id }
  }
}

function ended(report: Report, phase: Phase): LegEnd {
  return { kind: "report", report, phase }
}

/**
 * What was decided on: the sealed questions and earlier answers, and this leg's answers as received. An earlier state of
 * the same dialogue that says the same is the same input: a client that lost a re-ask and goes back is shown the outcome.
 */
function fingerprint(contents: Contents, received: string): Uint8Array {
  const earlier = canonicalJson(contents.state)
  return sha256(pae("fingerprint", contents.asked, earlier.ok ? earlier.text : undefined, received)).slice(0, 16)
}
