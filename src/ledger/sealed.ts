import { LOOKUP_SECONDS } from "../seal/index.ts"
import { asClaim, claimAfter, NO_CLAIM, sameBytes } from "./claim.ts"
import type { Row, RowKey, SealedRows } from "./sealed-rows.ts"
import type {
  Answer,
  AnswerAnswer,
  Attempt,
  ClaimAnswer,
  FinishAnswer,
  LeaseEnd,
  LookupAnswer,
  Outcome,
  Recorded,
  SettleAnswer,
  Unsettled,
} from "./types.ts"

/** How long a row outlives its deadline: while expired tokens may look it up, and two minutes for unequal clocks. */
export const AFTERLIFE_MS = (LOOKUP_SECONDS + 120) * 1000

/** An outcome that needs no claim. */
export interface Settlement {
  /** Tells the same call made again, because its answer was lost, from another call with the same input. */
  readonly call: Uint8Array
  readonly outcome: Outcome
  readonly fingerprint: Uint8Array
  readonly body?: Uint8Array
}

/** What an operation's row means at a given time. */
type Standing =
  /** No row, or a released one: any input may run. */
  | { readonly is: "free"; readonly row?: Row }
  /** Nothing runs, and under strict rounds only the newest answer may. */
  | { readonly is: "answered"; readonly row: Row }
  /** `lapsed`: the lease is over and the same input may run once more. `unknown`: it is over and nothing may. */
  | { readonly is: "running" | "lapsed" | "unknown"; readonly row: Row }
  | { readonly is: "recorded"; readonly outcome: Outcome; readonly row: Row }

const LATE = { status: "late" } as const
const PASSED = { status: "passed" } as const
const ALREADY_USED = { status: "already_used" } as const
const DONE = { status: "done" } as const
const SUPERSEDED = { status: "superseded" } as const
const NO_ATTEMPT = new Uint8Array()

/**
 * Decides about sealed operations. Every verb is one synchronous block: it reads, decides and writes with nothing in
 * between. `now` is the object's clock, in milliseconds since 1970.
 */
export class SealedOperations {
  readonly #rows: SealedRows

  constructor(rows: SealedRows) {
    this.#rows = rows
  }

  /** Takes the answer to one of an operation's strict rounds, and the answers before it count no more. */
  answer(now: number, key: RowKey, { round, fingerprint }: Answer): AnswerAnswer {
    const standing = this.#standing(now, key)
    switch (standing.is) {
      case "recorded":
        return this.#recorded(key, standing, fingerprint)
      case "running":
      case "unknown":
        return unsettled(standing, fingerprint)
      case "lapsed":
        return sameBytes(standing.row.fingerprint, fingerprint) ? PASSED : unsettled(standing, fingerprint)
      case "free":
      case "answered":
        return now > key.deadline ? LATE : this.#take(now, key, { round, fingerprint }, standing.row)
    }
  }

  claim(now: number, key: RowKey, attempt: Attempt): ClaimAnswer {
    const standing = seenWith(attempt.fingerprint, this.#standing(now, key))
    switch (standing.is) {
      case "free":
        return now > key.deadline ? LATE : this.#lease(now, key, attempt, attempt.onLeaseEnd, standing.row)
      case "lapsed":
        // The first claim fixed input and policy.
        return sameBytes(standing.row.fingerprint, attempt.fingerprint)
          ? this.#lease(now, key, attempt, "rerun_again", standing.row)
          : unsettled(standing, attempt.fingerprint)
      case "running":
        return isHeldBy(standing.row, attempt) ? claimed(standing.row) : unsettled(standing, attempt.fingerprint)
      case "answered":
      case "unknown":
        return unsettled(standing, attempt.fingerprint)
      case "recorded":
        return this.#recorded(key, standing, attempt.fingerprint)
    }
  }

  settle(now: number, key: RowKey, { call, outcome, fingerprint, body }: Settlement): SettleAnswer {
    const standing = seenWith(fingerprint, this.#standing(now, key))
    if (standing.is === "recorded")
      return sameBytes(standing.row.attempt, call)
        ? { status: "settled", recordedAt: standing.row.at }
        : this.#recorded(key, standing, fingerprint)
    if (standing.is !== "free") return unsettled(standing, fingerprint)
    if (now > key.deadline) return LATE
    this.#rows.write(key, { state: outcome, at: now, fingerprint, attempt: call, claim: NO_CLAIM, round: 0 }, body)
    return { status: "settled", recordedAt: now }
  }

  record(now: number, key: RowKey, claim: Uint8Array, outcome: Outcome, body?: Uint8Array): FinishAnswer {
    const standing = this.#standing(now, key)
    if (isIdle(standing) || !sameBytes(standing.row.claim, claim)) return SUPERSEDED
    if (standing.is === "recorded") return standing.outcome === outcome ? DONE : SUPERSEDED
    this.#rows.write(key, { ...standing.row, state: outcome, at: now }, body)
    return DONE
  }

  release(now: number, key: RowKey, claim: Uint8Array): FinishAnswer {
    const standing = this.#standing(now, key)
    if (standing.is === "recorded" || !standing.row || !sameBytes(standing.row.claim, claim)) return SUPERSEDED
    if (isIdle(standing)) return DONE
    // What an attempt before this one did is not known: the operation stays with its input.
    const state = standing.row.state === "rerun_again" ? "rerun_again" : "free"
    this.#rows.write(key, { ...standing.row, state, at: now })
    return DONE
  }

  lookup(now: number, key: RowKey, fingerprint: Uint8Array): LookupAnswer {
    const standing = this.#standing(now, key)
    if (isIdle(standing)) return { status: "absent" }
    if (standing.is === "recorded") return this.#recorded(key, standing, fingerprint)
    return unsettled(standing, fingerprint)
  }

  #standing(now: number, key: RowKey): Standing {
    const row = now > key.deadline + AFTERLIFE_MS ? undefined : this.#rows.read(key)
    if (row === undefined) return { is: "free" }
    switch (row.state) {
      case "free":
        return { is: row.round === 0 || now > key.deadline ? "free" : "answered", row }
      case "report":
        return { is: now < row.at ? "running" : "unknown", row }
      case "rerun":
      case "rerun_again":
        if (now < row.at) return { is: "running", row }
        return { is: now <= key.deadline ? "lapsed" : "unknown", row }
      default:
        return { is: "recorded", outcome: row.state, row }
    }
  }

  #take(now: number, key: RowKey, { round, fingerprint }: Answer, row: Row | undefined): AnswerAnswer {
    const newest = row?.round ?? 0
    if (row && round === newest && sameBytes(row.fingerprint, fingerprint)) return PASSED
    if (round <= newest) return ALREADY_USED
    const claim = row?.claim ?? NO_CLAIM
    this.#rows.write(key, { state: "free", at: now, fingerprint, attempt: NO_ATTEMPT, claim, round })
    return PASSED
  }

  #lease(now: number, key: RowKey, attempt: Attempt, state: LeaseEnd | "rerun_again", before: Row | undefined) {
    const row: Row = {
      state,
      at: now + attempt.leaseSeconds * 1000,
      fingerprint: attempt.fingerprint,
      attempt: attempt.attempt,
      claim: claimAfter(before?.claim ?? NO_CLAIM),
      round: before?.round ?? 0,
    }
    this.#rows.write(key, row)
    return claimed(row)
  }

  #recorded(key: RowKey, { outcome, row }: Standing & { is: "recorded" }, fingerprint: Uint8Array): Recorded {
    const body = this.#rows.body(key)
    const sameInput = sameBytes(row.fingerprint, fingerprint)
    return { status: "recorded", outcome, sameInput, recordedAt: row.at, ...(body && { body }) }
  }
}

function claimed({ claim, at, state }: Row): ClaimAnswer {
  return { status: "claimed", claim: asClaim(claim), leaseEndsAt: at, again: state === "rerun_again" }
}

/** The attempt that holds the lease asks again: its answer was lost on the way. */
function isHeldBy(row: Row, attempt: Attempt): boolean {
  return sameBytes(row.attempt, attempt.attempt) && sameBytes(row.fingerprint, attempt.fingerprint)
}

/** Nothing runs, nothing is recorded. */
function isIdle(standing: Standing): standing is Extract<Standing, { is: "free" | "answered" }> {
  return standing.is === "free" || standing.is === "answered"
}

/** To the newest answer under strict rounds, the operation is free. */
function seenWith(fingerprint: Uint8Array, standing: Standing): Standing {
  if (standing.is !== "answered" || !sameBytes(standing.row.fingerprint, fingerprint)) return standing
  return { is: "free", row: standing.row }
}

function unsettled(standing: Exclude<Standing, { is: "free" | "recorded" }>, fingerprint: Uint8Array): Unsettled {
  return {
    status: standing.is === "unknown" ? "unknown" : "running",
    sameInput: sameBytes(standing.row.fingerprint, fingerprint),
    leaseEndsAt: standing.row.at,
  }
}
