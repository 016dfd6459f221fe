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

export const KINDS = ["provision", "report", "rerun", "redeem"] as const

export type Kind = (typeof KINDS)[number]

/** All that was seen of one operation, by its clients and by the world that its effect changes. */
export interface History {
  readonly kind: Kind
  readonly name: string
  readonly seen: readonly Seen[]
  /** One entry for each thing that was made: what a result must show that speaks of it. */
  readonly effects: readonly string[]
}
