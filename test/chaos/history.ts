/** What an operation's client sends to finish it. Two inputs differ in what is answered, or only in the state. */
export interface Input {
  readonly answers: string
  readonly state: string
}

/** What its client was told. */
export type Told =
  /** An outcome, as the answer to this very input; with its result where it has one. */
  | { readonly says: "outcome"; readonly outcome: string; readonly result: string }
  /** What stands there for other input. */
  | { readonly says: "already_used"; readonly recorded: string }
  /** The key belongs to other input, for as long as its record lives. */
  | { readonly says: "mismatch" }
  | { readonly says: "in_progress" | "outcome_unknown" }
  /** Nothing was done, and the same may be sent again. */
  | { readonly says: "given_back" }
  /** No answer, or none that says anything of the operation. */
  | { readonly says: "nothing"; readonly why: string }
  /** The state is not valid, or not any more. */
  | { readonly says: "refused" }

/** One request and what became of it; times in milliseconds of this process. */
export interface Seen {
  readonly input: Input
  readonly told: Told
  readonly sent: number
  readonly heard: number
}

/** A claim that was given, and the number of its attempt. */
export interface HeldClaim {
  readonly attempt: number
  readonly claim: string
}

export const SEALED_KINDS = ["provision", "report", "rerun", "redeem"] as const
export const KEYED_KINDS = ["keyed report", "keyed rerun"] as const
export const KINDS = [...SEALED_KINDS, ...KEYED_KINDS] as const

export type Kind = (typeof KINDS)[number]
export type KeyedKind = (typeof KEYED_KINDS)[number]

/** All that was seen of one operation, by its clients and by the world that its effect changes. */
export interface History {
  readonly kind: Kind
  readonly name: string
  readonly seen: readonly Seen[]
  /** As far as clients hear of them: of keyed operations alone. */
  readonly claims: readonly HeldClaim[]
  /** One entry for each thing that was made: what a result must show that speaks of it. */
  readonly effects: readonly string[]
}
