import type { z } from "zod"
import type { LeaseEnd } from "../ledger/index.ts"
import { LONGEST_DEADLINE_SECONDS } from "../seal/index.ts"
import { type Asked, askedNothing } from "./asked.ts"
import type { InquiryDialogue } from "./inquiry-dialogue.ts"
import type { OperationDialogue } from "./operation-dialogue.ts"

/** What the server enforces for every dialogue. */
export interface Rules {
  /** The tool's or prompt's name, or the resource's. */
  readonly name: string
  /** Raise it when the meaning of an answer changes though the words of the question do not. */
  readonly version?: string
  /** How many times questions may be put, re-asks included, 1..20. */
  readonly rounds: number
  /** Seconds from the first question in which all must be decided; at most 86,400. */
  readonly timeoutSeconds: number
}

/** What the server enforces for what is done once. */
export interface OperationRules extends Rules {
  /** What an exact repeat gets: the recorded result, or `already_used`. */
  readonly replay: "result" | "reject"
  /** Seconds that one attempt may take, 1..25; work that needs longer belongs to a task or a workflow. */
  readonly leaseSeconds: number
  /**
   * What becomes of an attempt that vanished: `report` states its outcome as unknown and never runs again; `rerun` runs
   * again, so its effect must honour the idempotency key.
   */
  readonly onLeaseEnd: LeaseEnd
}

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
 *     return op.commit(async ({ idempotencyKey }) => done({ greeted: name }, `Greeted ${name}.`))
 *   },
 * )
 */
export function operation<Input>(
  options: OperationRules & Takes<Input>,
  handler: OperationHandler<Input>,
): Operation<Input> {
  checkRules(options)
  inRange("leaseSeconds", options.leaseSeconds, 25)
  const { replay, onLeaseEnd } = options
  return { ...options, asked: askedNothing(options, [replay, onLeaseEnd]), handler }
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

function checkRules({ rounds, timeoutSeconds }: Rules): void {
  inRange("rounds", rounds, 20)
  inRange("timeoutSeconds", timeoutSeconds, LONGEST_DEADLINE_SECONDS)
}

function inRange(name: string, value: number, most: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= most) return
  throw new RangeError(`${name} must be a whole number from 1 to ${most}.`)
}
