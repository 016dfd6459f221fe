import { type InputRequiredResult, inputRequired, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server"
import { type InquiryEnd, InvalidArguments, type Report } from "../operation/index.ts"
import type { Reason } from "../seal/index.ts"

/** An outcome other than `completed` where a result has no place for one: outside the range that JSON-RPC reserves. */
const OUTCOME_ERROR = 1001

export const CANNOT_ASK =
  "This asks a person first, which needs a client of revision 2026-07-28, or one with a session. Nothing was done."

/** A question on the wire; with no question, state alone, which the client sends back at once. */
export function askResult({ requests, state }: Extract<InquiryEnd<never>, { kind: "ask" }>): InputRequiredResult {
  return inputRequired({
    ...(Object.keys(requests).length > 0 && { inputRequests: requests }),
    requestState: state,
  })
}

/**
 * The one answer to state that does not open, whatever the reason, which the operator's log has. The SDK makes it the
 * uniform -32602 (basic/patterns/mrtr), in the same bytes for all.
 */
export function refusedState(reason: Reason): Error {
  switch (reason) {
    case "malformed":
    case "unknown_key":
    case "expired":
    case "principal":
    case "audience":
    case "request":
    case "forged":
      return new Error("The state is refused.")
  }
}

/** A report as a JSON-RPC error, for prompts and resources. */
export function outcomeError({ text, data, ...outcome }: Report): ProtocolError {
  return new ProtocolError(OUTCOME_ERROR, text, { ...data, ...outcome })
}

/** Rethrows what a leg threw: arguments that do not fit are the caller's mistake, where no result has a place for it. */
export function rethrown(error: unknown): never {
  if (error instanceof InvalidArguments) throw new ProtocolError(ProtocolErrorCode.InvalidParams, error.message)
  throw error
}
