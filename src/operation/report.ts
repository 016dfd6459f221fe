import { z } from "zod"
import type { Json, OperationId } from "../brands.ts"
import type { Outcome } from "../ledger/index.ts"
import { STATE_LIMIT_BYTES } from "../seal/index.ts"

/** What became of an operation, or of this attempt at it: every outcome of a record, and what else may be said. */
export const STATUSES = [
  "completed",
  "failed",
  "declined",
  "cancelled",
  "policy_changed",
  "already_used",
  "in_progress",
  "outcome_unknown",
  "rounds_exceeded",
] as const satisfies readonly (Outcome | string)[]
export type Status = (typeof STATUSES)[number]

/** The final answer of a leg, worded for a model and a person, and machine readable. */
export interface Report {
  readonly status: Status
  /** Whether sending the same state again, or calling again without state as `nextAction` says, can help. */
  readonly retryable: boolean
  /** Absent where an inquiry ended before it had state. */
  readonly operationId?: OperationId
  readonly nextAction: string
  readonly text: string
  /** Members that the operation's own result adds. */
  readonly data: { readonly [member: string]: Json }
  /** With `already_used`: what stands in the record; `answered` where a strict round has another answer. */
  readonly recorded?: Outcome | "running" | "outcome_unknown" | "answered"
}

/** The part of a report that is stored, encrypted, beside the outcome. */
export type StoredReport = Pick<Report, "retryable" | "nextAction" | "text" | "data">

export const StoredReport = z.object({
  retryable: z.boolean(),
  nextAction: z.string(),
  text: z.string(),
  data: z.record(z.string(), z.json()),
}) satisfies z.ZodType<StoredReport>

/** What to do where nothing happened and the state is still good. */
export const SEND_AGAIN = "Send the same request with the same requestState again."

const NOTHING_MORE = "Nothing: this is final."

/** What each status says where the operation's author says nothing else. */
const WORDS: Record<Status, { readonly retryable: boolean; readonly text: string; readonly nextAction: string }> = {
  completed: { retryable: false, text: "Done.", nextAction: NOTHING_MORE },
  failed: { retryable: false, text: "Nothing was done.", nextAction: NOTHING_MORE },
  declined: {
    retryable: false,
    text: "The person declined. Nothing was done.",
    nextAction: "Do not ask for the same again; propose something else.",
  },
  cancelled: {
    retryable: false,
    text: "The person cancelled. Nothing was done.",
    nextAction: "Do not ask for the same again; propose something else.",
  },
  policy_changed: {
    retryable: true,
    text: "What was asked has changed since. Nothing was done.",
    nextAction: "Call again without requestState, so that the person is asked anew.",
  },
  already_used: {
    retryable: false,
    text: "This operation has an outcome already, for other answers than these. Nothing more was done.",
    nextAction: "Look at what exists before you ask for it again.",
  },
  in_progress: {
    retryable: true,
    text: "Another attempt at this operation is running.",
    nextAction: "Send the same request with the same requestState again in a few seconds.",
  },
  outcome_unknown: {
    retryable: false,
    text: "An attempt was begun and its outcome is not known.",
    nextAction: "Check what exists before you ask for it again.",
  },
  rounds_exceeded: {
    retryable: true,
    text: "The question was put as often as is allowed. Nothing was done.",
    nextAction: "Call again without requestState to begin anew.",
  },
}

/** The words for a status, with whatever the author or the record says instead. */
export function report(status: Status, operationId: OperationId | undefined, said: Partial<StoredReport> = {}): Report {
  return { status, ...(operationId && { operationId }), data: {}, ...WORDS[status], ...said }
}

/** The report of an exact repeat whose stored words cannot be read any more: its key has left the ring. */
export function reportWithoutResult(status: Outcome, operationId: OperationId): Report {
  return report(status, operationId, { data: { resultOmitted: true } })
}

/** The end of a dialogue whose state cannot carry what was answered so far. */
export function tooLong(operationId: OperationId | undefined): Report {
  return report("failed", operationId, {
    retryable: true,
    text: `The answers are longer than state can carry, ${STATE_LIMIT_BYTES} bytes in all. Nothing was done.`,
    nextAction: "Call again without requestState, and answer more briefly.",
  })
}

/** The answer to a strict round that has another answer already. */
export function alreadyAnswered(operationId: OperationId): Report {
  const text = "This question was answered already, otherwise than now. Nothing more was done."
  return { ...report("already_used", operationId, { text }), recorded: "answered" }
}

/** The answer to other answers than those the operation was spent on, or to another branch of it. */
export function alreadyUsed(operationId: OperationId, recorded: NonNullable<Report["recorded"]>): Report {
  const text =
    recorded === "running" ? "An attempt at this operation, on other answers than these, is running." : undefined
  return { ...report("already_used", operationId, text === undefined ? {} : { text }), recorded }
}
