import type { InputRequests } from "@modelcontextprotocol/server"
import type { OperationId, Principal, TenantId, Token } from "../brands.ts"
import type { LedgerClient } from "../ledger/index.ts"
import type { Binding, Contents, Home, Pseudonyms, Reason, ResultBox, Sealer } from "../seal/index.ts"
import type { Report, Status } from "./report.ts"

/** For whom the operation runs. */
export interface Caller {
  readonly tenant: TenantId
  readonly principal: Principal
  readonly scopes: ReadonlySet<string>
}

/** Where a leg came to its end: while asking, at the record of what is spent, at a second look, or with the effect. */
export type Phase = "ask" | "record" | "recheck" | "effect"

/** How a leg ends: with a question, with a final answer, or turned away. */
export type LegEnd =
  | { readonly kind: "ask"; readonly requests: InputRequests; readonly state: Token }
  | { readonly kind: "report"; readonly report: Report; readonly phase: Phase }
  | { readonly kind: "refused"; readonly reason: Reason }

/** How a leg of an inquiry ends: as any, or with what its handler returned. */
export type InquiryEnd<Result> = LegEnd | { readonly kind: "result"; readonly result: Result }

/** What every line about a leg says of it. The hashes are keyed: they recognise, and name nobody. */
export interface LegMark {
  /** The operation's or inquiry's. */
  readonly name: string
  readonly person: string
  readonly arguments: string
  /** The id of the caller's trace (W3C Trace Context), where it sent one. */
  readonly trace?: string
}

/** What happened on a leg, for the operator: ids, counts and keyed hashes, never what anybody wrote. */
export type LegEvent =
  | {
      readonly event: "round"
      readonly operation: OperationId
      readonly round: number
      /** The keys of the questions; none where state alone is sent. */
      readonly asks: readonly string[]
      /** Answers of this leg that were not what was asked for. */
      readonly invalid: number
    }
  | {
      readonly event: "outcome"
      /** Absent where an inquiry ended before it had state. */
      readonly operation: OperationId | undefined
      readonly round: number
      readonly phase: Phase
      readonly status: Status
    }
  | { readonly event: "state_refused"; readonly reason: Reason }
  /** A fault, by its error's name: a message may quote what a person wrote. An author's mistake is said in full. */
  | { readonly event: "fault"; readonly error: string; readonly problem?: string }

export type OperationEvent = LegEvent & LegMark

/** What the runtime is made of; everything that has a clock, a key, a die or a wire comes from outside. */
export interface RuntimeParts {
  readonly sealer: Sealer
  readonly results: ResultBox
  readonly ledger: LedgerClient
  /** Where a new operation's record shall live. */
  readonly home: () => Home
  readonly now: () => number
  readonly random: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array
  /** Longest life of one round's state, in seconds. */
  readonly ttlSeconds: number
  /** Keeps work alive after the response: from claim to record, whoever hangs up. */
  readonly waitUntil: (work: Promise<unknown>) => void
  readonly pseudonyms: Pseudonyms
  readonly observe: (event: OperationEvent) => void
}

/** The state that this leg brought, verified. */
export interface Verified {
  readonly contents: Contents
  /** Past its time: it may look up an outcome, and never claim one. */
  readonly expired: boolean
}

/** What the client sent as answers: nothing in it is trusted, and its canonical text tells a repeat from another try. */
export interface Responses {
  readonly byKey: Record<string, unknown>
  readonly canonical: string
}

/** One request of an operation, with everything about it that has been proven. */
export interface Leg {
  readonly parts: RuntimeParts
  readonly caller: Caller
  readonly binding: Binding
  /** Absent on a first leg: then answers count for nothing, for nobody was shown the question. */
  readonly verified: Verified | undefined
  readonly responses: Responses
  /** The caller's `traceparent`, for whatever this leg calls. */
  readonly traceparent: string | undefined
  readonly observe: (event: LegEvent) => void
  /** Fires when the client goes away, and perhaps when all is over: only before a claim does it mean anything. */
  readonly signal: AbortSignal
}
