import { HOUR, MINUTE } from "./support.ts"

/**
 * What the ledger promises, in the plainest words: a map of operations, one clock, and no storage. Tests run the same
 * steps on it and on the object, and compare the answers.
 */
export class Model {
  /** The clock never runs back behind the last sweep. */
  #sweptAt = 0
  /** Claims are numbered as they are given. */
  #claimsGiven = 0
  readonly #records = new Map<string, ModelRecord>()

  claim(time: number, operation: ModelOperation, by: ModelAttempt): ModelAnswer {
    const now = this.#clock(time)
    const record = this.#alive(now, operation)
    const isOver = now > operation.deadline
    if (record === undefined || record.released) {
      if (isOver) return { status: "late" }
      if (isAnsweredOtherwise(record, by.input)) return unsettled(now, operation, record, by.input)
      return this.#give(now, operation, by, by.rerun, false, record)
    }
    if (record.outcome !== undefined) return recorded(record, by.input)
    const leaseIsOver = now >= record.leaseEndsAt
    if (!leaseIsOver && record.attempt === by.attempt && record.input === by.input) return claimed(record)
    if (leaseIsOver && record.rerun && !isOver && record.input === by.input)
      return this.#give(now, operation, by, true, true, record)
    return unsettled(now, operation, record, by.input)
  }

  settle(time: number, operation: ModelOperation, by: ModelSettlement): ModelAnswer {
    const now = this.#clock(time)
    const record = this.#alive(now, operation)
    if (record?.settledBy === by.call) return { status: "settled", recordedAt: record.recordedAt }
    if (record !== undefined && !record.released) return this.#describe(now, operation, record, by.input)
    if (now > operation.deadline) return { status: "late" }
    if (isAnsweredOtherwise(record, by.input)) return unsettled(now, operation, record, by.input)
    const { input, outcome, body, call } = by
    this.#records.set(operation.name, { ...NEVER_CLAIMED, input, outcome, body, settledBy: call, recordedAt: now })
    return { status: "settled", recordedAt: now }
  }

  answer(time: number, operation: ModelOperation, { round, input }: ModelRound): ModelAnswer {
    const now = this.#clock(time)
    const record = this.#alive(now, operation)
    if (record !== undefined && !record.released) {
      const mayRunAgain =
        record.outcome === undefined && record.rerun && now >= record.leaseEndsAt && now <= operation.deadline
      return mayRunAgain && record.input === input
        ? { status: "passed" }
        : this.#describe(now, operation, record, input)
    }
    if (now > operation.deadline) return { status: "late" }
    if (record?.round === round && record.input === input) return { status: "passed" }
    if (round <= (record?.round ?? 0)) return { status: "already_used" }
    const answered = { input, round, released: true, leaseEndsAt: now }
    this.#records.set(operation.name, { ...NEVER_CLAIMED, ...record, ...answered })
    return { status: "passed" }
  }

  record(time: number, operation: ModelOperation, claim: number, outcome: string, body?: number): ModelAnswer {
    const now = this.#clock(time)
    const record = this.#alive(now, operation)
    if (record === undefined || record.released || record.claim !== claim) return { status: "superseded" }
    if (record.outcome !== undefined) return { status: record.outcome === outcome ? "done" : "superseded" }
    this.#records.set(operation.name, { ...record, outcome, body, recordedAt: now })
    return { status: "done" }
  }

  release(time: number, operation: ModelOperation, claim: number): ModelAnswer {
    const record = this.#alive(this.#clock(time), operation)
    if (record === undefined || record.outcome !== undefined || record.claim !== claim) return { status: "superseded" }
    if (!record.released)
      this.#records.set(operation.name, { ...record, released: !record.again, leaseEndsAt: this.#clock(time) })
    return { status: "done" }
  }

  lookup(time: number, operation: ModelOperation, input: number): ModelAnswer {
    const now = this.#clock(time)
    const record = this.#alive(now, operation)
    return record === undefined || record.released
      ? { status: "absent" }
      : this.#describe(now, operation, record, input)
  }

  sweep(time: number): void {
    this.#sweptAt = this.#clock(time)
  }

  #clock(time: number): number {
    return Math.max(time, this.#sweptAt)
  }

  #alive(now: number, operation: ModelOperation): ModelRecord | undefined {
    return now > operation.deadline + HOUR + 2 * MINUTE ? undefined : this.#records.get(operation.name)
  }

  #give(
    now: number,
    operation: ModelOperation,
    by: ModelAttempt,
    rerun: boolean,
    again: boolean,
    before?: ModelRecord,
  ): ModelAnswer {
    const leaseEndsAt = now + by.leaseSeconds * 1000
    const { input, attempt } = by
    const claim = this.#claimsGiven++
    const { fence, round } = { fence: (before?.fence ?? 0) + 1, round: before?.round ?? 0 }
    const record = { input, attempt, claim, fence, round, rerun, again, leaseEndsAt, released: false }
    this.#records.set(operation.name, record)
    return claimed(record)
  }

  #describe(now: number, operation: ModelOperation, record: ModelRecord, input: number): ModelAnswer {
    return record.outcome === undefined ? unsettled(now, operation, record, input) : recorded(record, input)
  }
}

export interface ModelOperation {
  readonly name: string
  readonly deadline: number
}

export interface ModelAttempt {
  readonly attempt: number
  readonly input: number
  readonly rerun: boolean
  readonly leaseSeconds: number
}

export interface ModelRound {
  readonly round: number
  readonly input: number
}

export interface ModelSettlement {
  readonly call: number
  readonly outcome: string
  readonly input: number
  readonly body?: number
}

interface ModelRecord {
  readonly input: number
  readonly attempt: number | undefined
  readonly claim: number | undefined
  readonly fence: number
  readonly rerun: boolean
  /** An attempt before this one vanished. */
  readonly again: boolean
  readonly leaseEndsAt: number
  readonly released: boolean
  /** The newest round that was answered, with `input`; 0 where rounds are not strict. */
  readonly round: number
  readonly outcome?: string
  readonly body?: number | undefined
  readonly recordedAt?: number
  readonly settledBy?: number
}

const NEVER_CLAIMED = {
  attempt: undefined,
  claim: undefined,
  fence: 0,
  round: 0,
  rerun: false,
  again: false,
  released: false,
  leaseEndsAt: 0,
}

export type ModelAnswer = { readonly status: string } & Record<string, unknown>

/** Under strict rounds, only the newest answer may end the operation. */
function isAnsweredOtherwise(record: ModelRecord | undefined, input: number): record is ModelRecord {
  return record !== undefined && record.round > 0 && record.input !== input
}

function claimed({ leaseEndsAt, fence, claim, again }: ModelRecord): ModelAnswer {
  return { status: "claimed", leaseEndsAt, fence, claim, again }
}

function recorded(record: ModelRecord, input: number): ModelAnswer {
  const { outcome, recordedAt, body } = record
  return { status: "recorded", outcome, recordedAt, sameInput: record.input === input, body }
}

function unsettled(now: number, operation: ModelOperation, record: ModelRecord, input: number): ModelAnswer {
  const mayRunAgain = record.rerun && now <= operation.deadline
  const status = record.released || now < record.leaseEndsAt || mayRunAgain ? "running" : "unknown"
  return { status, sameInput: record.input === input, leaseEndsAt: record.leaseEndsAt }
}
