/*
 * What the operator sees: one JSON line an event, and where a dataset is bound one data point. Never an answer, a state,
 * a token, an argument or a principal; a keyed hash where one must be recognised.
 */
import type { ApiEvent } from "./api/index.ts"
import type { McpEvent } from "./mcp/endpoint.ts"
import type { SessionEvent } from "./mcp/session/index.ts"
import type { OperationEvent } from "./operation/index.ts"

export type LogEvent =
  | OperationEvent
  | ApiEvent
  | McpEvent
  | SessionEvent
  | { readonly event: "misconfigured"; readonly problem: string }

/** Writes one line to the platform's log. */
export function log(event: LogEvent): void {
  console.log(JSON.stringify(event))
}

/** Logs events, and counts them in a dataset of Analytics Engine where one is bound. */
export function createObserver(metrics: AnalyticsEngineDataset | undefined): (event: LogEvent) => void {
  return (event) => {
    log(event)
    metrics?.writeDataPoint(dataPoint(event))
  }
}

/** blob1 the event, blob2 what it is of, blob3 the decision, blob4 the phase; double1 the round, double2 invalid answers. */
function dataPoint(event: LogEvent): AnalyticsEngineDataPoint {
  const name = "name" in event ? event.name : ""
  const phase = "phase" in event ? event.phase : ""
  const round = "round" in event ? event.round : 0
  const invalid = "invalid" in event ? event.invalid : 0
  return { indexes: [name], blobs: [event.event, name, decision(event), phase], doubles: [round, invalid] }
}

function decision(event: LogEvent): string {
  switch (event.event) {
    case "round":
      return event.round === 1 ? "begun" : "asked again"
    case "outcome":
      return event.status
    case "redeem":
    case "keyed_operation":
      return event.outcome
    case "session":
      return event.change
    case "state_refused":
    case "session_refused":
      return event.reason
    case "fault":
      return event.error
    case "rate_limited":
    case "misconfigured":
      return "refused"
  }
}
