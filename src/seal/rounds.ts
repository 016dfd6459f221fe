import { SealError } from "./errors.ts"
import type { Contents, Draft } from "./types.ts"

/** The life of one round's state where nobody chose one, in seconds. */
export const DEFAULT_TTL_SECONDS = 300
/** Where nobody chose how many rounds. */
export const DEFAULT_ROUNDS = 3
/** That an operation may be given. */
export const MOST_ROUNDS = 20
/** A deadline that nobody chose leaves time for more than one round. */
export const SHORTEST_DEFAULT_DEADLINE_SECONDS = 600

/** How long an operation and the states of its rounds live. */
interface RoundTerms {
  /** Of one round's state, by default 300. */
  readonly ttlSeconds?: number | undefined
  /** 1..20, by default 3. */
  readonly maxRounds?: number | undefined
  /** Of all rounds together, by default the greater of `ttlSeconds` and 600. */
  readonly deadlineSeconds?: number | undefined
}

/** A round but for what it says and where its operation's record lives. */
type FirstRound = Omit<Draft, "state" | "home">
type NextRound = Omit<Draft, "state">

/**
 * The first round of an operation, which decides its rounds and its deadline. Throws `SealError` for other `maxRounds`.
 *
 * @example const draft = { ...firstRound({ maxRounds: 2 }, Date.now()), home, state }
 */
export function firstRound(terms: RoundTerms, now: number): FirstRound {
  const { ttlSeconds = DEFAULT_TTL_SECONDS, maxRounds = DEFAULT_ROUNDS } = terms
  const { deadlineSeconds = Math.max(SHORTEST_DEFAULT_DEADLINE_SECONDS, ttlSeconds) } = terms
  if (!Number.isInteger(maxRounds) || maxRounds < 1 || maxRounds > MOST_ROUNDS) {
    throw new SealError("invalid_draft", `maxRounds must be a whole number from 1 to ${MOST_ROUNDS}.`)
  }
  return {
    round: 1,
    roundLimit: maxRounds,
    issuedAt: now,
    expiresAt: now + ttlSeconds * 1_000,
    deadline: now + deadlineSeconds * 1_000,
  }
}

/**
 * The round after this one; none where none is left. What the first round decided stays.
 *
 * @example const next = nextRound(opened.contents, {}, Date.now()) // undefined: no rounds are left
 */
export function nextRound(before: Contents, { ttlSeconds }: RoundTerms, now: number): NextRound | undefined {
  const { round, roundLimit = DEFAULT_ROUNDS, deadline } = before
  if (round >= roundLimit) return undefined
  // Of two clocks of one deployment the later one counts: time never runs back within an operation.
  const issuedAt = Math.max(now, before.issuedAt)
  const expiresAt = Math.min(issuedAt + (ttlSeconds ?? DEFAULT_TTL_SECONDS) * 1_000, deadline)
  return { ...before, round: round + 1, issuedAt, expiresAt }
}
