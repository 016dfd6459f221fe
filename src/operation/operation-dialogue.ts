import type { Asked } from "./asked.ts"
import { Dialogue } from "./dialogue.ts"
import type { Commitment } from "./effect.ts"
import type { Leg, LegEnd } from "./leg.ts"
import type { Report } from "./report.ts"
import type { OperationRules } from "./rules.ts"
import { Spending } from "./spending.ts"

/** The author's side of an operation: asks, and ends with a commit or a decline. */
export class OperationDialogue extends Dialogue {
  readonly #rules: OperationRules

  constructor(rules: OperationRules, asked: Asked, leg: Leg, end: (end: LegEnd) => void) {
    super(rules, asked, leg, end, false)
    this.#rules = rules
  }

  /** Ends the operation without its effect: an answer that means no. */
  async decline(text: string): Promise<never> {
    await this.#decide()
    return this.over(await this.#spending().settle("declined", { text }))
  }

  /** Ends the operation without its effect: an answer that means that nobody wants it any more. */
  async cancel(text: string): Promise<never> {
    await this.#decide()
    return this.over(await this.#spending().settle("cancelled", { text }))
  }

  /** Spends the operation, looks again, and runs its effect, once, whatever is repeated or raced. */
  async commit(commitment: Commitment): Promise<never> {
    await this.#decide()
    const end = this.#spending().commit(commitment)
    this.leg.parts.waitUntil(Promise.allSettled([end]))
    return this.over(await end)
  }

  protected override refuse(by: "declined" | "cancelled"): Promise<LegEnd> {
    return this.#spending().settle(by)
  }

  protected override change(): Promise<LegEnd> {
    return this.#spending().settle("policy_changed")
  }

  protected override async takeAnswers(): Promise<LegEnd | undefined> {
    return this.#rules.strict ? this.#spending().answer() : undefined
  }

  protected override stop(report: Report): Promise<LegEnd> {
    return this.#spending().stop(report)
  }

  /**
   * A decision without verified state sends state and no question: the client comes back at once, so that the effect runs
   * on a leg that can be repeated after a lost response. A client that went away gets nothing done; one that goes away
   * later does not stop what was claimed.
   */
  async #decide(): Promise<void> {
    if (!(await this.decided())) await this.suspend({})
    if (this.leg.signal.aborted) await new Promise<never>(() => {})
  }

  #spending(): Spending {
    const { verified } = this.leg
    if (!verified) throw new Error("An operation is spent on the strength of verified state only.")
    return new Spending(this.#rules, this.leg, verified)
  }
}
