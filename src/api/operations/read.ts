import type { z } from "zod"
import type { OperationKey, ReadAnswer } from "../../ledger/index.ts"
import type { Answer } from "../answer.ts"
import type { ApiParts } from "../call.ts"
import { endpoint, NO_BODY } from "../endpoint.ts"
import { problem } from "../problems.ts"
import { timeOf } from "../schemas/common.ts"
import { ReadParameters, StandingBody } from "../schemas/operations.ts"
import { keyOf } from "./key.ts"
import { outcomeBody, recordedBody } from "./outcome.ts"

export const read = endpoint({
  name: "read",
  method: "GET",
  path: "/operations/{key}",
  scope: "operations",
  summary: "Says what stands in the operation's record.",
  parameters: ReadParameters,
  body: NO_BODY,
  answers: { 200: StandingBody },
  problems: ["unknown_operation", "overloaded"],
  handle: async (call, _body, { key, principal }) => {
    const named = keyOf(call, key, principal)
    return standing(call.parts, named, await call.parts.keyedLedger.read(named))
  },
})

async function standing(parts: ApiParts, key: OperationKey, answer: ReadAnswer): Promise<Answer> {
  if (answer.status === "absent") {
    return problem("unknown_operation", "Nothing was begun under this key, or its record is over.")
  }
  return { status: 200, body: await standingBody(parts, key, answer) }
}

async function standingBody(
  parts: ApiParts,
  key: OperationKey,
  answer: Exclude<ReadAnswer, { status: "absent" }>,
): Promise<z.output<typeof StandingBody>> {
  const { attempt } = answer
  switch (answer.status) {
    case "running": {
      const lapsed = parts.now() >= answer.leaseEndsAt
      return { status: "running", attempt, leaseEndsAt: timeOf(answer.leaseEndsAt), ...(lapsed && { lapsed }) }
    }
    case "unknown":
      return { status: "outcome_unknown", attempt, leaseEndsAt: timeOf(answer.leaseEndsAt) }
    case "recorded":
      return { ...(await recordedBody(parts, key, answer, true)), attempt }
    case "retryable": {
      const { endedAt: at, expiresAt } = answer
      return { ...outcomeBody({ outcome: "failed", at, expiresAt, retryable: true, replayed: true }), attempt }
    }
  }
}
