import { z } from "zod"
import type { Json } from "../brands.ts"
import { COMMON_PROBLEMS, type ProblemKind, problemDocument } from "../problem.ts"
import { PERIOD_SECONDS } from "../rate-limit.ts"
import type { Reason } from "../seal/index.ts"
import type { Answer } from "./answer.ts"
import { documented, Time } from "./schemas/common.ts"

interface Kind extends ProblemKind {
  /** What a problem of this code says beyond what all problems say. */
  readonly members?: z.ZodRawShape
}

const errors = z
  .array(
    z.strictObject({
      path: z.string().register(documented, { description: "JSON Pointer into the body, or the parameter's name." }),
      message: z.string(),
    }),
  )
  .max(10)

const reason = z
  .enum(["malformed", "unknown_key", "expired", "principal", "audience", "request", "forged"])
  .register(documented, { description: "For the log of the calling server, not for its users." })

const retryAfterSeconds = z.int().min(1).register(documented, { description: "As the header Retry-After has it." })

/** Every problem that `/v1` answers with. Codes are stable; titles and details are for people. */
export const PROBLEMS = {
  ...COMMON_PROBLEMS,
  invalid_json: { status: 400, title: "The body is not JSON" },
  invalid_body: { status: 400, title: "The body does not fit its schema", members: { errors } },
  invalid_parameter: { status: 400, title: "A parameter does not fit its schema", members: { errors } },
  unauthorized: { status: 401, title: "An access token is needed" },
  invalid_token: { status: 401, title: "The access token is not valid here" },
  insufficient_scope: { status: 403, title: "The access token lacks a scope" },
  unknown_operation: { status: 404, title: "The operation was never begun" },
  method_not_allowed: { status: 405, title: "Method not allowed" },
  body_too_slow: { status: 408, title: "The body took too long" },
  operation_in_progress: {
    status: 409,
    title: "Another attempt is running",
    members: { leaseEndsAt: Time, retryAfterSeconds },
  },
  operation_outcome_unknown: { status: 409, title: "What the last attempt came to is not known" },
  already_redeemed: { status: 409, title: "The operation is spent", members: { redeemedAt: Time } },
  stale_claim: { status: 409, title: "The claim is not the current one" },
  not_unknown: { status: 409, title: "There is no unknown outcome to settle" },
  body_too_large: { status: 413, title: "The body is too large" },
  result_too_large: { status: 413, title: "The result is too large to keep" },
  unsupported_media_type: { status: 415, title: "The body is not declared as JSON" },
  invalid_request_state: { status: 422, title: "The requestState does not verify", members: { reason } },
  rounds_exceeded: { status: 422, title: "The operation has no rounds left" },
  operation_mismatch: { status: 422, title: "The key was used for another request" },
  rate_limited: { status: 429, title: "Too many calls", members: { retryAfterSeconds } },
  keys_unavailable: { status: 503, title: "The issuer's keys cannot be fetched" },
  overloaded: { status: 503, title: "The ledger cannot take the call now", members: { retryAfterSeconds } },
} as const satisfies Record<string, Kind>

export type ProblemCode = keyof typeof PROBLEMS

/** A problem as an answer. `detail` says what is wrong and what to do; it quotes no state, token, answer or secret. */
export function problem(code: ProblemCode, detail: string, members: Readonly<Record<string, Json>> = {}): Answer {
  const kind = PROBLEMS[code]
  return { status: kind.status, body: problemDocument(kind, code, detail, members) }
}

/** A problem that passes: told in the header, and in the body for those whose answer has no headers of its own. */
export function passingProblem(
  code: "rate_limited" | "overloaded" | "operation_in_progress",
  retryAfterSeconds: number,
  detail: string,
  members: Readonly<Record<string, Json>> = {},
): Answer {
  return {
    ...problem(code, detail, { ...members, retryAfterSeconds }),
    headers: { "Retry-After": String(retryAfterSeconds) },
  }
}

/** A call too many: it did nothing. */
export function tooManyCalls(): Answer {
  return passingProblem("rate_limited", PERIOD_SECONDS, `Too many calls; try again in ${PERIOD_SECONDS} seconds.`)
}

/** A state that did not open. The reason is for the log of the server that called. */
export function refusedState(reason: Reason): Answer {
  const detail = "The requestState does not verify for this principal, audience and request; nothing was done."
  return problem("invalid_request_state", detail, { reason })
}

const MOST_ERRORS = 10
/** A member's name is the sender's own and may be as long as the body. */
const LONGEST_PATH = 200

/** What does not fit, with where it is; the values themselves are not repeated. */
export function misfit(code: "invalid_body" | "invalid_parameter", { issues }: z.ZodError): Answer {
  return problem(code, MEND, { errors: issues.flatMap(errorsOf).slice(0, MOST_ERRORS) })
}

/** The same for what no schema can see. */
export function misfitAt(path: string, message: string): Answer {
  return problem("invalid_body", MEND, { errors: [{ path, message }] })
}

const MEND = "Mend what errors names, and send it again."

function errorsOf(issue: z.core.$ZodIssue) {
  if (issue.code !== "unrecognized_keys") return [{ path: pointer(issue.path), message: issue.message }]
  return issue.keys
    .slice(0, MOST_ERRORS)
    .map((key) => ({ path: pointer([...issue.path, key]), message: "is not known" }))
}

/** RFC 6901. */
function pointer(path: readonly PropertyKey[]): string {
  const steps = path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`)
  return steps.join("").slice(0, LONGEST_PATH)
}
