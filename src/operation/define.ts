import type { z } from "zod"
import { type Asked, askedNothing } from "./asked.ts"
import type { InquiryDialogue } from "./inquiry-dialogue.ts"
import type { OperationDialogue } from "./operation-dialogue.ts"
import { checkOperationRules, checkRules, type OperationRules, type Rules } from "./rules.ts"

/** The arguments, validated before the handler sees them. */
interface Takes<Input> {
  readonly input: z.ZodType<Input>
}

export interface Operation<Input> extends OperationRules, Takes<Input> {
  readonly asked: Asked
  readonly handler: OperationHandler<Input>
}

/** Reads from top to bottom, and ends with `op.commit` or `op.decline`, which never return. */
export type OperationHandler<Input> = (op: OperationDialogue, input: Input) => Promise<never>

export interface Inquiry<Input, Result> extends Rules, Takes<Input> {
  readonly asked: Asked
  readonly handler: InquiryHandler<Input, Result>
}

/** Reads from top to bottom and returns its result. It changes nothing. */
export type InquiryHandler<Input, Result> = (dialogue: InquiryDialogue, input: Input) => Promise<Result>

/**
 * One logical action across all its rounds, as a function that reads from top to bottom: it asks, and commits once.
 * The function is entered again on every leg; what earlier legs answered comes from the sealed state.
 *
 * @throws RangeError when a limit is out of its range
 * @example
 * operation(
 *   { name: "greet", input: z.object({}), rounds: 2, timeoutSeconds: 300, replay: "result", leaseSeconds: 10, onLeaseEnd: "report" },
 *   async (op) => {
 *     const { name } = await op.ask("name", form(z.object({ name: z.string() }), "Whom shall I greet?"))
 *     return op.commit({ effect: async () => done({ greeted: name }, `Greeted ${name}.`) })
 *   },
 * )
 */
export function operation<Input>(
  options: OperationRules & Takes<Input>,
  handler: OperationHandler<Input>,
): Operation<Input> {
  checkOperationRules(options)
  const { replay, onLeaseEnd, strict } = options
  return { ...options, asked: askedNothing(options, [replay, onLeaseEnd, ...(strict ? ["strict"] : [])]), handler }
}

/**
 * A question and an answer without an effect: it asks and returns what it found, and touches no ledger. There is nothing
 * to protect from a repeat, so answers count even when they come without state.
 *
 * @throws RangeError when a limit is out of its range
 * @example
 * inquiry({ name: "brief", input: z.object({}), rounds: 2, timeoutSeconds: 300 }, async (dialogue) => {
 *   const { audience } = await dialogue.ask("audience", form(z.object({ audience: z.string() }), "For whom?"))
 *   return { messages: [{ role: "user", content: { type: "text", text: `Write for ${audience}.` } }] }
 * })
 */
export function inquiry<Input, Result>(
  options: Rules & Takes<Input>,
  handler: InquiryHandler<Input, Result>,
): Inquiry<Input, Result> {
  checkRules(options)
  return { ...options, asked: askedNothing(options, []), handler }
}
