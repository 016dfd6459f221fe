/*
 * What the operator sees: one JSON line an event. Never an answer, a state, a token, an argument or a principal.
 */
import type { ApiEvent } from "./api/index.ts"
import type { OperationEvent } from "./operation/index.ts"

export type LogEvent = OperationEvent | ApiEvent | { readonly event: "misconfigured"; readonly problem: string }

/** Writes one line to the platform's log. */
export function log(event: LogEvent): void {
  console.log(JSON.stringify(event))
}
