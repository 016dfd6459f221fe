import type { z } from "zod"
import type { LeaseEnd } from "../ledger/index.ts"
import { LONGEST_DEADLINE_SECONDS } from "../seal/index.ts"
import { type Asked, askedNothing } from "./asked.ts"
import type { Dialogue } from "./dialogue.ts"

/** What the server enforces for one kind of operation. */
export interface OperationRules {
  /** The tool's or prompt's name. */
  readonly name: string
  /** Raise it when the meaning of an approval changes though its words do not. */
  readonly version?: string
  /** How many times a question may be put, re-asks included. */
  readonly rounds: number
  /** Seconds from the first question in which the operation must be decided; at most 86,400. */
  readonly timeoutSeconds: number
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

export interface OperationOptions<Input> extends OperationRules {
  /** The arguments, validated before the handler sees them. */
  readonly input: z.ZodType<Input>
}

/** Reads from top to bottom, and ends with `op.commit` or `op.decline`, which never return. */
export type Handler<Input> = (op: Dialogue, input: Input) => Promise<never>

export interface Operation<Input> extends OperationOptions<Input> {
  readonly asked: Asked
  readonly handler: Handler<Input>
}

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
export function operation<Input>(options: OperationOptions<Input>, handler: Handler<Input>): Operation<Input> {
  inRange("rounds", options.rounds, 20)
  inRange("timeoutSeconds", options.timeoutSeconds, LONGEST_DEADLINE_SECONDS)
  inRange("leaseSeconds", options.leaseSeconds, 25)
  return { ...options, asked: askedNothing(options), handler }
}

function inRange(name: string, value: number, most: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= most) return
  throw new RangeError(`${name} must be a whole number from 1 to ${most}.`)
}
