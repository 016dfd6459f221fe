import type { Json } from "../brands.ts"

/** The MCP request that a state or an operation belongs to. Absent arguments are not empty ones. */
export type McpRequest = {
  /** Such as `tools/call`. */
  readonly method: string
  /** The tool's or prompt's name, or the resource's URI. */
  readonly target: string
} & (
  | { readonly arguments?: Readonly<Record<string, unknown>>; readonly argumentsDigest?: never }
  /** SHA-256 of the RFC 8785 form of the arguments, base64url. */
  | { readonly argumentsDigest: string; readonly arguments?: never }
)

/** What a state is bound to: it opens for exactly these. */
export interface Bound {
  /** The user, as this server names its users: 1 to 512 bytes. */
  readonly principal: string
  readonly audience?: string
  readonly request: McpRequest
}

/** What to seal, for whom and for how long; the next round of an operation where it `continues` one. Times in seconds. */
export type SealRequest = Bound & {
  /** At most 4 KiB of JSON. */
  readonly state: Json
  /** 1..86400, by default 300. */
  readonly ttlSeconds?: number
} & (
    | {
        /** 1..20, by default 3. */
        readonly maxRounds?: number
        /** 1..86400 and at least `ttlSeconds`, by default the greater of `ttlSeconds` and 600. */
        readonly deadlineSeconds?: number
        readonly continues?: never
      }
    /** The state of the round before: the same operation, one round further. */
    | { readonly continues: string; readonly maxRounds?: never; readonly deadlineSeconds?: never }
  )

/** A state that came back, and what the retry says it is for. */
export interface OpenRequest extends Bound {
  /** Byte for byte as it came back. */
  readonly requestState: string
}

/** A state whose operation shall be spent, by one attempt. */
export interface RedeemRequest extends OpenRequest {
  /**
   * 16 to 128 visible ASCII characters, random, one an attempt. Give one to be able to ask again after a crash or a
   * time-out: `replayed` then says that this attempt had redeemed before.
   */
  readonly attemptId?: string
}

/** One call of a batch: a request and what to do with it. */
export type BatchRequest =
  | ({ readonly op: "seal" } & SealRequest)
  | ({ readonly op: "open" } & OpenRequest)
  | ({ readonly op: "redeem" } & RedeemRequest)

/** For whom an operation runs: keys of one principal are apart from those of another, and from those of none. */
export interface ForPrincipal {
  readonly principal?: string
}

/** What an operation is, and how it is to be run. */
export type RunRequest = ForPrincipal & {
  /** 1..900, by default 30. */
  readonly leaseSeconds?: number
  /** 60..2592000, by default 86400: how long the outcome is kept. The first begin decides. */
  readonly retentionSeconds?: number
  /** An attempt vanished: its outcome is unknown (`report`, default), or the next begin runs. The first begin decides. */
  readonly onLeaseEnd?: "report" | "rerun"
  /** 0..25: how long to wait for another attempt to end. By default 0, and 25 for `run`. */
  readonly waitSeconds?: number
} & (
    | { readonly request: McpRequest; readonly fingerprint?: never }
    /** The operation's input in your own words: 1 to 512 bytes. */
    | { readonly fingerprint: string; readonly request?: never }
  )

/** What an operation is, how it is to be run, and which attempt asks. */
export type BeginRequest = RunRequest & {
  /** As for {@link RedeemRequest}: the same again gets the same claim, while its lease lasts. */
  readonly attemptId?: string
}

/** The result of the attempt that holds this claim. */
export type CompleteRequest = ForPrincipal & {
  readonly claim: string
} & (
    | {
        /** At most 1 MiB of JSON is kept. */
        readonly result: Json
        readonly resultOmitted?: never
      }
    /** Completed, and its result is not to be kept: it is too large, or no JSON. */
    | { readonly resultOmitted: true; readonly result?: never }
  )

/** Why the attempt that holds this claim did nothing. */
export type FailRequest = ForPrincipal & {
  readonly claim: string
  /** True: sure that nothing happened, and the next begin runs. False: final. */
  readonly retryable: boolean
} & (
    | {
        /** At most 1 MiB of JSON is kept. */
        readonly error: Json
        readonly errorOmitted?: never
      }
    /** Failed, and its error is not to be kept. */
    | { readonly errorOmitted: true; readonly error?: never }
  )

/** How long the attempt that holds this claim goes on. */
export interface RenewRequest extends ForPrincipal {
  readonly claim: string
  /** 1..900, from now on. */
  readonly leaseSeconds: number
}

/** What an attempt came to whose outcome is unknown; `rerun`: sure that nothing happened, and the next begin runs. */
export type ResolveRequest = ForPrincipal &
  (
    | { readonly outcome: "completed"; readonly result?: Json }
    | { readonly outcome: "failed"; readonly error?: Json }
    | { readonly outcome: "rerun" }
  )
