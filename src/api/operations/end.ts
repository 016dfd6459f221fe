import type { Json } from "../../brands.ts"
import type { KeyedOutcome, OperationKey } from "../../ledger/index.ts"
import type { Answer } from "../answer.ts"
import type { Call } from "../call.ts"
import { endpoint } from "../endpoint.ts"
import { problem } from "../problems.ts"
import { timeOf } from "../schemas/common.ts"
import {
  CompleteBody,
  CompletedBody,
  FailBody,
  FailedBody,
  KeyParameters,
  RenewBody,
  RenewedBody,
} from "../schemas/operations.ts"
import { readClaim, staleClaim } from "./claim.ts"
import { keyOf } from "./key.ts"
import { boxed, outcomeBody, recordedBody } from "./outcome.ts"

export const complete = endpoint({
  name: "complete",
  method: "POST",
  path: "/operations/{key}/complete",
  scope: "operations",
  summary: "Records what the attempt came to; late, too, while no other has begun.",
  parameters: KeyParameters,
  body: CompleteBody,
  answers: { 200: CompletedBody },
  problems: ["stale_claim", "result_too_large", "overloaded"],
  handle: (call, { claim, result, principal }, { key }) =>
    record(call, keyOf(call, key, principal), readClaim(claim), "completed", result),
})

export const fail = endpoint({
  name: "fail",
  method: "POST",
  path: "/operations/{key}/fail",
  scope: "operations",
  summary: "Records that the attempt failed: for good, or so that the next begin runs.",
  parameters: KeyParameters,
  body: FailBody,
  answers: { 200: FailedBody },
  problems: ["stale_claim", "result_too_large", "overloaded"],
  handle: (call, { claim, error, retryable, principal }, { key }) => {
    const named = keyOf(call, key, principal)
    return retryable
      ? release(call, named, readClaim(claim), error)
      : record(call, named, readClaim(claim), "failed", error)
  },
})

export const renew = endpoint({
  name: "renew",
  method: "POST",
  path: "/operations/{key}/renew",
  scope: "operations",
  summary: "Lets the lease end so many seconds from now.",
  parameters: KeyParameters,
  body: RenewBody,
  answers: { 200: RenewedBody },
  problems: ["stale_claim", "overloaded"],
  handle: async (call, { claim, leaseSeconds, principal }, { key }) => {
    const answer = await call.parts.keyedLedger.renew(keyOf(call, key, principal), readClaim(claim), leaseSeconds)
    if (answer.status === "stale") return staleClaim()
    return { status: 200, body: { leaseEndsAt: timeOf(answer.leaseEndsAt) } }
  },
})

/** An outcome whose result is too large is recorded without it: what has run must not run again. */
async function record(
  { parts }: Call,
  key: OperationKey,
  claim: Uint8Array,
  outcome: KeyedOutcome,
  value: Json | undefined,
): Promise<Answer> {
  const { body, tooLarge } = await boxed(parts, key, value)
  const answer = await parts.keyedLedger.end(key, claim, { outcome, body })
  parts.observe({ event: "keyed_operation", name: outcome, outcome: answer.status })
  if (answer.status === "stale") return staleClaim()
  const keptBefore = answer.status === "recorded" && answer.body !== undefined
  if (tooLarge && !keptBefore) return resultTooLarge()
  if (answer.status === "recorded") return { status: 200, body: await recordedBody(parts, key, answer, false) }
  const { endedAt: at, expiresAt } = answer
  return { status: 200, body: outcomeBody({ outcome, value, at, expiresAt, replayed: false }) }
}

/** Gives the operation back; the error is told to nobody but its sender. */
async function release(
  { parts }: Call,
  key: OperationKey,
  claim: Uint8Array,
  error: Json | undefined,
): Promise<Answer> {
  const answer = await parts.keyedLedger.end(key, claim, { outcome: "rerun" })
  parts.observe({ event: "keyed_operation", name: "retryable", outcome: answer.status })
  if (answer.status !== "ended") return staleClaim()
  const { endedAt: at, expiresAt } = answer
  const ended = { outcome: "failed", value: error, at, expiresAt, retryable: true, replayed: false } as const
  return { status: 200, body: outcomeBody(ended) }
}

export function resultTooLarge(): Answer {
  return problem("result_too_large", "It was recorded without its result or error; send at most 1 MiB of JSON.")
}
