import type { LeaseEnd } from "../ledger/index.ts"
import { LONGEST_DEADLINE_SECONDS, LONGEST_TTL_SECONDS } from "../seal/index.ts"

/** What the server enforces for every dialogue. */
export interface Rules {
  /** The tool's or prompt's name, or the resource's. */
  readonly name: string
  /** Raise it when the meaning of an answer changes though the words of the question do not. */
  readonly version?: string
  /** The version of the policy under which answers count; a dialogue that began under another ends. */
  readonly policyVersion?: () => string
  /** How many times questions may be put, re-asks included, 1..20. */
  readonly rounds: number
  /** Seconds from the first question in which all must be decided; at most 86,400. */
  readonly timeoutSeconds: number
  /** Seconds that one round's state lives, at most 86,400; by default what the deployment sets. */
  readonly roundSeconds?: number
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
  /**
   * Whether each answered round counts once, so that a question cannot be tried again and again with the same state; by
   * default no. It costs one ledger call a round.
   */
  readonly strict?: boolean
}

/** @throws RangeError when a limit is out of its range */
export function checkRules({ rounds, timeoutSeconds, roundSeconds = 1 }: Rules): void {
  inRange("roundSeconds", roundSeconds, LONGEST_TTL_SECONDS)
  inRange("rounds", rounds, 20)
  inRange("timeoutSeconds", timeoutSeconds, LONGEST_DEADLINE_SECONDS)
}

/** @throws RangeError when a limit is out of its range */
export function checkOperationRules(rules: OperationRules): void {
  checkRules(rules)
  inRange("leaseSeconds", rules.leaseSeconds, 25)
}

function inRange(name: string, value: number, most: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= most) return
  throw new RangeError(`${name} must be a whole number from 1 to ${most}.`)
}
