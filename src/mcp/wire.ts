import { type InputRequiredResult, inputRequired, ProtocolError } from "@modelcontextprotocol/server"
import type { InquiryEnd, Report } from "../operation/index.ts"

/** An outcome other than `completed` where a result has no place for one: outside the range that JSON-RPC reserves. */
const OUTCOME_ERROR = 1001

export const NEEDS_NEWER_CLIENT =
  "This asks a person before it answers, which needs a client of protocol revision 2026-07-28. Nothing was done."

/** A question on the wire; with no question, state alone, which the client sends back at once. */
export function askResult({ requests, state }: Extract<InquiryEnd<never>, { kind: "ask" }>): InputRequiredResult {
  return inputRequired({
    ...(Object.keys(requests).length > 0 && { inputRequests: requests }),
    requestState: state,
  })
}

/** A report as a JSON-RPC error, for prompts and resources. */
export function outcomeError({ text, data, ...outcome }: Report): ProtocolError {
  return new ProtocolError(OUTCOME_ERROR, text, { ...outcome, ...data })
}
