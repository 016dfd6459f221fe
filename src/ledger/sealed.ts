import { LOOKUP_SECONDS } from "../seal/index.ts"
import { asClaim, claimAfter, sameBytes } from "./claim.ts"
import type { Row, RowKey, SealedRows } from "./sealed-rows.ts"
import type {
  Attempt,
  ClaimAnswer,
  FinishAnswer,
  LookupAnswer,
  Outcome,
  Recorded,
  SettleAnswer,
  Unsettled,
} from "./types.ts"

/** How long a row outlives its deadline: while expired tokens may look it up, and two minutes for unequal clocks. */
export const AFTERLIFE_MS = (LOOKUP_SECONDS + 120) * 1000

/** A claim comes before the deadline, so a lease of at most this never outlives its row. */
export const LONGEST_LEASE_SECONDS = 900

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
  /** No row, or a released one. */
  | { readonly is: "free"; readonly lastClaim?: Uint8Array }
  /** `lapsed`: the lease is over and the same input may run once more. `unknown`: it is over and nothing may. */
  | { readonly is: "running" | "lapsed" | "unknown"; readonly row: Row }
  | { readonly is: "recorded"; readonly outcome: Outcome; readonly row: Row }

const LATE = { status: "late" } as const
const SETTLED = { status: "settled" } as const
const DONE = { status: "done" } as const
const SUPERSEDED = { status: "superseded" } as const
const NONE = new Uint8Array()

/**
 * Decides about sealed operations. Every verb is one synchronous block: it reads, decides and writes with nothing in
 * between. `now` is the object's clock, in milliseconds since 1970.
 */
export class SealedOperations {
  readonly #rows: SealedRows

  constructor(rows: SealedRows) {
    this.#rows = rows
  }

  claim(now: number, key: RowKey, attempt: Attempt): ClaimAnswer {
    const standing = this.#standing(now, key)
    switch (standing.is) {
      case "free":
        return now > key.deadline ? LATE : this.#lease(now, key, attempt, standing.lastClaim)
      case "lapsed":
        // The first claim fixed input and policy.
        return sameBytes(standing.row.fingerprint, attempt.fingerprint)
          ? this.#lease(now, key, { ...attempt, onLeaseEnd: "rerun" }, standing.row.claim)
          : unsettled(standing, attempt.fingerprint)
      case "running":
        return isHeldBy(standing.row, attempt)
          ? { status: "claimed", claim: asClaim(standing.row.claim), leaseEndsAt: standing.row.at }
          : unsettled(standing, attempt.fingerprint)
      case "unknown":
        return unsettled(standing, attempt.fingerprint)
      case "recorded":
        return this.#recorded(key, standing, attempt.fingerprint)
    }
  }

  settle(now: number, key: RowKey, { call, outcome, fingerprint, body }: Settlement): SettleAnswer {
    const standing = this.#standing(now, key)
    if (standing.is === "recorded")
      return sameBytes(standing.row.attempt, call) ? SETTLED : this.#recorded(key, standing, fingerprint)
    if (standing.is !== "free") return unsettled(standing, fingerprint)
    if (now > key.deadline) return LATE
    this.#rows.write(key, { state: outcome, at: now, fingerprint, attempt: call, claim: NONE }, body)
    return SETTLED
  }

  record(now: number, key: RowKey, claim: Uint8Array, outcome: Outcome, body?: Uint8Array): FinishAnswer {
    const standing = this.#standing(now, key)
    if (standing.is === "free" || !sameBytes(standing.row.claim, claim)) return SUPERSEDED
    if (standing.is === "recorded") return standing.outcome === outcome ? DONE : SUPERSEDED
    this.#rows.write(key, { ...standing.row, state: outcome, at: now }, body)
    return DONE
  }

  release(now: number, key: RowKey, claim: Uint8Array): FinishAnswer {
    const standing = this.#standing(now, key)
    if (standing.is === "free") return standing.lastClaim && sameBytes(standing.lastClaim, claim) ? DONE : SUPERSEDED
    if (standing.is === "recorded" || !sameBytes(standing.row.claim, claim)) return SUPERSEDED
    this.#rows.write(key, { ...standing.row, state: "released", at: now })
    return DONE
  }

  lookup(now: number, key: RowKey, fingerprint: Uint8Array): LookupAnswer {
    const standing = this.#standing(now, key)
    if (standing.is === "free") return { status: "absent" }
    if (standing.is === "recorded") return this.#recorded(key, standing, fingerprint)
    return unsettled(standing, fingerprint)
  }

  #standing(now: number, key: RowKey): Standing {
    const row = now > key.deadline + AFTERLIFE_MS ? undefined : this.#rows.read(key)
    if (row === undefined) return { is: "free" }
    switch (row.state) {
      case "released":
        return { is: "free", lastClaim: row.claim }
      case "report":
        return { is: now < row.at ? "running" : "unknown", row }
      case "rerun":
        if (now < row.at) return { is: "running", row }
        return { is: now <= key.deadline ? "lapsed" : "unknown", row }
      default:
        return { is: "recorded", outcome: row.state, row }
    }
  }

  #lease(now: number, key: RowKey, attempt: Attempt, lastClaim: Uint8Array | undefined): ClaimAnswer {
    const claim = claimAfter(lastClaim)
    const leaseEndsAt = now + attempt.leaseSeconds * 1000
    this.#rows.write(key, {
      state: attempt.onLeaseEnd,
      at: leaseEndsAt,
      fingerprint: attempt.fingerprint,
      attempt: attempt.attempt,
      claim,
    })
    return { status: "claimed", claim, leaseEndsAt }
  }

  #recorded(key: RowKey, { outcome, row }: Standing & { is: "recorded" }, fingerprint: Uint8Array): Recorded {
    const body = this.#rows.body(key)
    const sameInput = sameBytes(row.fingerprint, fingerprint)
    return { status: "recorded", outcome, sameInput, recordedAt: row.at, ...(body && { body }) }
  }
}

/** The attempt that holds the lease asks again: its answer was lost on the way. */
function isHeldBy(row: Row, attempt: Attempt): boolean {
  return sameBytes(row.attempt, attempt.attempt) && sameBytes(row.fingerprint, attempt.fingerprint)
}

function unsettled(standing: Exclude<Standing, { is: "free" | "recorded" }>, fingerprint: Uint8Array): Unsettled {
  return {
    status: standing.is === "unknown" ? "unknown" : "running",
    sameInput: sameBytes(standing.row.fingerprint, fingerprint),
    leaseEndsAt: standing.row.at,
  }
}
