import type { Json } from "../brands.ts"
import { WaxsealError } from "./errors.ts"
import type { Bound } from "./requests.ts"

/** How long states and their operations live. */
export interface Lifetime {
  /** 1..86400, by default 300: the life of one round's state. */
  readonly ttlSeconds?: number
  /** 1..20, by default 3. */
  readonly maxRounds?: number
  /** 1..86400 and at least `ttlSeconds`, by default the greater of `ttlSeconds` and 600: the life of all rounds together. */
  readonly deadlineSeconds?: number
}

/** Tools answer with it, so it speaks to whoever called the tool. */
export function noRoundsLeft(): WaxsealError {
  return new WaxsealError("rounds_exceeded", "No rounds are left; call again without state.")
}

/** What seals a codec's states. */
export interface Seals {
  /** `continues`: the state of the round before, whose operation has its rounds and its deadline already. */
  seal(bound: Bound, payload: Json, lifetime: Lifetime & { readonly continues: string | undefined }): Promise<string>
  /** Rejects with an `Error` whose message is the reason: for the log, and quoting nothing. */
  open(bound: Bound, state: string): Promise<Json>
}
