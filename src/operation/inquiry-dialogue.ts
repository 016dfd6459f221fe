import type { Asked } from "./asked.ts"
import { Dialogue } from "./dialogue.ts"
import type { Leg, LegEnd } from "./leg.ts"
import { type Report, report } from "./report.ts"
import type { Rules } from "./rules.ts"

/** The author's side of an inquiry: asks, and that is all. */
export class InquiryDialogue extends Dialogue {
  constructor(rules: Rules, asked: Asked, leg: Leg, end: (end: LegEnd) => void) {
    super(rules, asked, leg, end, true)
  }

  /** Before a result is given: state that was sealed for a question which is asked no more has answered nothing. */
  async close(): Promise<void> {
    if (!this.arrivedWhereAsked()) await this.over(await this.change())
  }

  protected override refuse(by: "declined" | "cancelled"): Promise<LegEnd> {
    return this.#report(by)
  }

  protected override change(): Promise<LegEnd> {
    return this.#report("policy_changed")
  }

  protected override async takeAnswers(): Promise<undefined> {}

  protected override async stop(report: Report): Promise<LegEnd> {
    return { kind: "report", report, phase: "ask" }
  }

  #report(status: "declined" | "cancelled" | "policy_changed"): Promise<LegEnd> {
    return this.stop(report(status, this.leg.verified?.contents.operation))
  }
}
