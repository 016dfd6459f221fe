import { asClaim, claimAfter, disowned, fenceOf, NO_CLAIM, sameBytes } from "./claim.ts"
import { expiryOf, type KeyedRow, type KeyedRows, type Terms } from "./keyed-rows.ts"
import type {
  BeginAnswer,
  EndAnswer,
  Ended,
  Ending,
  KeyedAttempt,
  KeyedOutcome,
  KeyedRecorded,
  KeyedUnsettled,
  ReadAnswer,
  RenewAnswer,
  ResolveAnswer,
} from "./keyed-types.ts"

/** Says what became of an attempt that cannot say it any more. */
export interface Resolution {
  /** The number of the attempt, so that a call that arrives late says nothing of the next one. */
  readonly attempt: number
  /** Tells the same call made again, because its answer was lost, from another one. */
  readonly call: Uint8Array
  readonly ending: Ending
}

/** What a key's row means at a given time. */
type Standing =
  /** Never begun, or over. */
  | { readonly is: "absent" }
  /** `lapsed`: the lease is over and the next attempt may run. `unknown`: it is over and nothing may. */
  | { readonly is: "free" | "running" | "lapsed" | "unknown"; readonly row: KeyedRow }
  | { readonly is: "recorded"; readonly outcome: KeyedOutcome; readonly row: KeyedRow }

const STALE = { status: "stale" } as const
const NOT_UNKNOWN = { status: "not_unknown" } as const

/**
 * Decides about keyed operations. Every verb is one synchronous block: it reads, decides and writes with nothing in
 * between. `now` is the object's clock, in milliseconds since 1970. A claim's fence is the number of its attempt.
 */
export class KeyedOperations {
  readonly #rows: KeyedRows

  constructor(rows: KeyedRows) {
    this.#rows = rows
  }

  begin(now: number, id: Uint8Array, attempt: KeyedAttempt): BeginAnswer {
    const standing = this.#standing(now, id)
    if (standing.is === "absent") {
      const row = leased(now, attempt, NO_CLAIM, attempt)
      this.#rows.insert(id, row)
      return claimed(row)
    }
    const { row } = standing
    if (!sameBytes(row.terms.fingerprint, attempt.fingerprint)) return { status: "mismatch" }
    switch (standing.is) {
      case "free":
      case "lapsed": {
        const next = leased(now, attempt, row.claim, row.terms)
        this.#rows.update(id, next)
        return claimed(next)
      }
      case "running":
        // The attempt that holds the lease asks again: its answer was lost on the way.
        return sameBytes(row.attempt, attempt.attempt) ? claimed(row) : unsettled("running", row)
      case "unknown":
        return unsettled("unknown", row)
      case "recorded":
        return this.#recorded(id, standing)
    }
  }

  end(now: number, id: Uint8Array, claim: Uint8Array, ending: Ending): EndAnswer {
    const standing = this.#standing(now, id)
    if (standing.is === "absent" || !sameBytes(standing.row.claim, claim)) return STALE
    switch (standing.is) {
      case "free":
        return ending.outcome === "rerun" ? ended(standing.row) : STALE
      case "recorded":
        return ending.outcome === standing.outcome ? this.#recorded(id, standing) : STALE
      case "running":
      case "lapsed":
      case "unknown":
        return this.#end(now, id, standing.row, ending)
    }
  }

  renew(now: number, id: Uint8Array, claim: Uint8Array, leaseSeconds: number): RenewAnswer {
    const standing = this.#standing(now, id)
    if (standing.is !== "running" || !sameBytes(standing.row.claim, claim)) return STALE
    const leaseEndsAt = now + leaseSeconds * 1000
    this.#rows.update(id, { ...standing.row, at: leaseEndsAt })
    return { status: "renewed", leaseEndsAt }
  }

  resolve(now: number, id: Uint8Array, { attempt, call, ending }: Resolution): ResolveAnswer {
    const standing = this.#standing(now, id)
    if (standing.is === "absent" || attemptOf(standing.row) !== attempt) return NOT_UNKNOWN
    switch (standing.is) {
      case "unknown": {
        const { row } = standing
        return this.#end(now, id, { ...row, attempt: call, claim: disowned(row.claim) }, ending)
      }
      case "free":
      case "recorded":
        return sameBytes(standing.row.attempt, call) ? ended(standing.row) : NOT_UNKNOWN
      default:
        return NOT_UNKNOWN
    }
  }

  read(now: number, id: Uint8Array): ReadAnswer {
    const standing = this.#standing(now, id)
    switch (standing.is) {
      case "absent":
        return { status: "absent" }
      case "free":
        return { ...ended(standing.row), status: "retryable", attempt: attemptOf(standing.row) }
      case "running":
      case "lapsed":
        return unsettled("running", standing.row)
      case "unknown":
        return unsettled("unknown", standing.row)
      case "recorded":
        return this.#recorded(id, standing)
    }
  }

  #standing(now: number, id: Uint8Array): Standing {
    const row = this.#rows.read(id)
    if (row === undefined || now >= expiryOf(row)) return { is: "absent" }
    switch (row.state) {
      case "free":
        return { is: "free", row }
      case "running":
        if (now < row.at) return { is: "running", row }
        return { is: row.terms.onLeaseEnd === "rerun" ? "lapsed" : "unknown", row }
      default:
        return { is: "recorded", outcome: row.state, row }
    }
  }

  #end(now: number, id: Uint8Array, row: KeyedRow, ending: Ending): Ended {
    const over: KeyedRow = { ...row, state: ending.outcome === "rerun" ? "free" : ending.outcome, at: now }
    this.#rows.update(id, over, ending.outcome === "rerun" ? undefined : ending.body)
    return ended(over)
  }

  #recorded(id: Uint8Array, { outcome, row }: Standing & { is: "recorded" }): KeyedRecorded {
    const body = this.#rows.body(id)
    return {
      status: "recorded",
      outcome,
      attempt: attemptOf(row),
      recordedAt: row.at,
      expiresAt: expiryOf(row),
      ...(body && { body }),
    }
  }
}

function leased(now: number, { attempt, leaseSeconds }: KeyedAttempt, lastClaim: Uint8Array, terms: Terms): KeyedRow {
  return { state: "running", at: now + leaseSeconds * 1000, attempt, claim: claimAfter(lastClaim), terms }
}

function claimed(row: KeyedRow): BeginAnswer {
  return { status: "claimed", claim: asClaim(row.claim), attempt: attemptOf(row), leaseEndsAt: row.at }
}

function unsettled(status: KeyedUnsettled["status"], row: KeyedRow): KeyedUnsettled {
  return { status, attempt: attemptOf(row), leaseEndsAt: row.at }
}

function ended(row: KeyedRow): Ended {
  return { status: "ended", endedAt: row.at, expiresAt: expiryOf(row) }
}

function attemptOf(row: KeyedRow): number {
  return fenceOf(asClaim(row.claim))
}
