import type { InputRequests } from "@modelcontextprotocol/server"
import type { OperationId, Principal, TenantId, Token } from "../brands.ts"
import type { LedgerClient } from "../ledger/index.ts"
import type { Binding, Contents, Home, Reason, ResultBox, Sealer } from "../seal/index.ts"
import type { Report, Status } from "./report.ts"

/** For whom the operation runs. */
export interface Caller {
  readonly tenant: TenantId
  readonly principal: Principal
  readonly scopes: ReadonlySet<string>
}

/** How a leg ends: with a question, with a final answer, or turned away. */
export type LegEnd =
  | { readonly kind: "ask"; readonly requests: InputRequests; readonly state: Token }
  | { readonly kind: "report"; readonly report: Report }
  | { readonly kind: "refused"; readonly reason: Reason }

/** How a leg of an inquiry ends: as any, or with what its handler returned. */
export type InquiryEnd<Result> = LegEnd | { readonly kind: "result"; readonly result: Result }

/** What happened, for the operator: ids and counts, never what anybody wrote. */
export type OperationEvent =
  | { readonly event: "round"; readonly operation: OperationId; readonly name: string; readonly round: number }
  | {
      readonly event: "outcome"
      readonly operation: OperationId | undefined
      readonly name: string
      readonly round: number
      readonly status: Status
    }
  | { readonly event: "state_refused"; readonly name: string; readonly reason: Reason }
  /** An author's or a dependency's fault: the error's name, never its message, which may quote what a person wrote. */
  | { readonly event: "fault"; readonly name: string; readonly error: string }

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
  /** Fires when the client goes away, and perhaps when all is over: only before a claim does it mean anything. */
  readonly signal: AbortSignal
}
