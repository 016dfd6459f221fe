import { RESULT_LIMIT_BYTES } from "../seal/index.ts"
import type { Attempt } from "./types.ts"

/** Stored results are at most this long: the longest result, and what its encryption may add. */
export const LONGEST_BODY_BYTES = RESULT_LIMIT_BYTES + 1024

/** A claim of a sealed operation comes before the deadline, so a lease of at most this never outlives its row. */
export const LONGEST_LEASE_SECONDS = 900
export const LONGEST_WAIT_SECONDS = 25

const ATTEMPT_BYTES = 16
const FINGERPRINT_BYTES = 16

export function checkAttempt({ attempt, fingerprint, leaseSeconds }: Attempt): void {
  checkLength("attempt", attempt, ATTEMPT_BYTES)
  checkFingerprint(fingerprint)
  checkLease(leaseSeconds)
}

export function checkFingerprint(fingerprint: Uint8Array): void {
  checkLength("fingerprint", fingerprint, FINGERPRINT_BYTES)
}

export function checkLease(seconds: number): void {
  checkRange("A lease lasts a whole number of seconds", seconds, 1, LONGEST_LEASE_SECONDS)
}

export function checkWait(seconds: number): void {
  checkRange("A caller waits a whole number of seconds", seconds, 0, LONGEST_WAIT_SECONDS)
}

export function checkRange(what: string, value: number, least: number, most: number): void {
  if (!Number.isInteger(value) || value < least || value > most)
    throw new RangeError(`${what} from ${least} to ${most}.`)
}

export function checkBody(body: Uint8Array | undefined): void {
  if (body !== undefined && body.byteLength > LONGEST_BODY_BYTES)
    throw new RangeError(`A stored result has at most ${LONGEST_BODY_BYTES} bytes; record the outcome without it.`)
}

/** The number under which a name is stored; what has none cannot be read again, so it is not written. */
export function numberOf<Name extends string>(names: readonly Name[], name: Name): number {
  const number = names.indexOf(name)
  if (number === -1) throw new RangeError("An outcome, a state or a policy of an operation is none that is known.")
  return number
}

/** Of a strict round: the first is 1. */
export function checkRound(round: number): void {
  if (!Number.isSafeInteger(round) || round < 1) throw new RangeError("A round is a whole number from 1.")
}

function checkLength(what: string, bytes: Uint8Array, length: number): void {
  if (bytes.byteLength !== length) throw new RangeError(`The ${what} of an operation has ${length} bytes.`)
}
