/**
 * What the ledger promises of keyed operations, in the plainest words: a map of records, one clock, and no storage.
 * Tests run the same steps on it and on the object, and compare the answers.
 */
export class KeyedModel {
  /** The clock never runs back behind the last sweep. */
  #sweptAt = 0
  /** Claims are numbered as they are given. */
  #claimsGiven = 0
  readonly #records = new Map<string, KeyedModelRecord>()

  begin(time: number, key: string, by: KeyedModelAttempt): KeyedModelAnswer {
    const now = this.#clock(time)
    const record = this.#alive(now, key)
    if (record === undefined) return this.#give(now, key, by, by, 1)
    if (record.input !== by.input) return { status: "mismatch" }
    if (record.end === "completed" || record.end === "failed") return recorded(record)
    if (record.end === "rerun") return this.#give(now, key, by, record, record.fence + 1)
    if (now < record.at) return record.attempt === by.attempt ? claimed(record) : running(now, record)
    return record.rerun ? this.#give(now, key, by, record, record.fence + 1) : running(now, record)
  }

  end(time: number, key: string, claim: number, { end, body }: KeyedModelEnding): KeyedModelAnswer {
    const now = this.#clock(time)
    const record = this.#alive(now, key)
    if (record?.claim !== claim) return { status: "stale" }
    if (record.end === undefined) return this.#finish(key, { ...record, end, body, at: now })
    if (record.end !== end) return { status: "stale" }
    return end === "rerun" ? ended(record) : recorded(record)
  }

  renew(time: number, key: string, claim: number, leaseSeconds: number): KeyedModelAnswer {
    const now = this.#clock(time)
    const record = this.#alive(now, key)
    if (record?.claim !== claim || record.end !== undefined || now >= record.at) return { status: "stale" }
    const leaseEndsAt = now + leaseSeconds * 1000
    this.#records.set(key, { ...record, at: leaseEndsAt })
    return { status: "renewed", leaseEndsAt }
  }

  resolve(time: number, key: string, { attempt, call, ending }: KeyedModelResolution): KeyedModelAnswer {
    const now = this.#clock(time)
    const { end, body } = ending
    const record = this.#alive(now, key)
    if (record?.fence !== attempt) return { status: "not_unknown" }
    if (record.end !== undefined && record.resolvedBy === call) return ended(record)
    const isUnknown = record.end === undefined && now >= record.at && !record.rerun
    if (!isUnknown) return { status: "not_unknown" }
    return this.#finish(key, { ...record, claim: undefined, resolvedBy: call, end, body, at: now })
  }

  read(time: number, key: string): KeyedModelAnswer {
    const now = this.#clock(time)
    const record = this.#alive(now, key)
    if (record === undefined) return { status: "absent" }
    if (record.end === undefined) return running(now, record)
    return record.end === "rerun" ? { ...ended(record), status: "retryable", attempt: record.fence } : recorded(record)
  }

  sweep(time: number): void {
    this.#sweptAt = this.#clock(time)
  }

  #clock(time: number): number {
    return Math.max(time, this.#sweptAt)
  }

  #alive(now: number, key: string): KeyedModelRecord | undefined {
    const record = this.#records.get(key)
    return record && now < expiry(record) ? record : undefined
  }

  #give(now: number, key: string, by: KeyedModelAttempt, terms: KeyedModelTerms, fence: number): KeyedModelAnswer {
    const { input, rerun, retentionSeconds } = terms
    const at = now + by.leaseSeconds * 1000
    const claim = this.#claimsGiven++
    const record = { input, rerun, retentionSeconds, attempt: by.attempt, fence, claim, at }
    this.#records.set(key, record)
    return claimed(record)
  }

  #finish(key: string, record: KeyedModelRecord): KeyedModelAnswer {
    this.#records.set(key, record)
    return ended(record)
  }
}

interface KeyedModelTerms {
  readonly input: number
  readonly rerun: boolean
  readonly retentionSeconds: number
}

export interface KeyedModelAttempt extends KeyedModelTerms {
  readonly attempt: number
  readonly leaseSeconds: number
}

export interface KeyedModelEnding {
  readonly end: "completed" | "failed" | "rerun"
  readonly body?: number | undefined
}

export interface KeyedModelResolution {
  /** The number of the attempt that it speaks of. */
  readonly attempt: number
  readonly call: number
  readonly ending: KeyedModelEnding
}

interface KeyedModelRecord extends KeyedModelTerms {
  readonly attempt: number
  readonly fence: number
  /** The claim that may speak for the operation; nobody's once somebody else has. */
  readonly claim: number | undefined
  /** When the lease ends, or when the attempt ended. */
  readonly at: number
  readonly end?: KeyedModelEnding["end"]
  readonly body?: number | undefined
  readonly resolvedBy?: number
}

export type KeyedModelAnswer = { readonly status: string } & Record<string, unknown>

function expiry({ at, retentionSeconds }: KeyedModelRecord): number {
  return at + retentionSeconds * 1000
}

function claimed({ claim, fence, at }: KeyedModelRecord): KeyedModelAnswer {
  return { status: "claimed", claim, attempt: fence, leaseEndsAt: at }
}

function running(now: number, { at, rerun, fence }: KeyedModelRecord): KeyedModelAnswer {
  return { status: now < at || rerun ? "running" : "unknown", attempt: fence, leaseEndsAt: at }
}

function ended(record: KeyedModelRecord): KeyedModelAnswer {
  return { status: "ended", endedAt: record.at, expiresAt: expiry(record) }
}

function recorded(record: KeyedModelRecord): KeyedModelAnswer {
  const { end: outcome, fence: attempt, at: recordedAt, body } = record
  return { status: "recorded", outcome, attempt, recordedAt, expiresAt: expiry(record), body }
}
