import { type InputRequiredResult, inputRequired, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server"
import { type InquiryEnd, InvalidArguments, type Report } from "../operation/index.ts"

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

/** Rethrows what a leg threw: arguments that do not fit are the caller's mistake, where no result has a place for it. */
export function rethrown(error: unknown): never {
  if (error instanceof InvalidArguments) throw new ProtocolError(ProtocolErrorCode.InvalidParams, error.message)
  throw error
}
