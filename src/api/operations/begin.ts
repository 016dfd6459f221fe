import { sha256 } from "@noble/hashes/sha2.js"
import type { z } from "zod"
import type { BeginAnswer, OperationKey } from "../../ledger/index.ts"
import { pae } from "../../seal/index.ts"
import type { Answer } from "../answer.ts"
import type { ApiParts } from "../call.ts"
import { endpoint } from "../endpoint.ts"
import { passingProblem, problem } from "../problems.ts"
import { timeOf } from "../schemas/common.ts"
import {
  BeginBody,
  BegunBody,
  DEFAULT_LEASE_SECONDS,
  DEFAULT_RETENTION_SECONDS,
  EndedBody,
  KeyParameters,
} from "../schemas/operations.ts"
import { digestOf } from "../state/bound.ts"
import { writeClaim } from "./claim.ts"
import { keyOf } from "./key.ts"
import { recordedBody } from "./outcome.ts"

const NAME = "begin"
const HASH_BYTES = 16
/** A lease's end is the latest that an attempt ends, and mostly not the time that it does. */
const LONGEST_RETRY_SECONDS = 5

export const begin = endpoint({
  name: NAME,
  method: "POST",
  path: "/operations/{key}/begin",
  scope: "operations",
  summary: "Takes the operation for one attempt, or says what stands.",
  parameters: KeyParameters,
  body: BeginBody,
  answers: { 200: EndedBody, 201: BegunBody },
  problems: ["operation_in_progress", "operation_outcome_unknown", "operation_mismatch", "overloaded"],
  handle: async (call, body, { key }) => {
    const { parts } = call
    const input = await inputOf(body)
    if (!input.ok) return input.answer
    const named = keyOf(call, key, body.principal)
    const attempt = {
      attempt: attemptOf(parts, body.attemptId),
      fingerprint: input.fingerprint,
      leaseSeconds: body.leaseSeconds ?? DEFAULT_LEASE_SECONDS,
      retentionSeconds: body.retentionSeconds ?? DEFAULT_RETENTION_SECONDS,
      onLeaseEnd: body.onLeaseEnd ?? "report",
    }
    const answer = await parts.keyedLedger.begin(named, attempt, body.waitSeconds)
    parts.observe({ event: "keyed_operation", name: NAME, outcome: answer.status })
    return begun(parts, named, answer)
  },
})

async function begun(parts: ApiParts, key: OperationKey, answer: BeginAnswer): Promise<Answer> {
  switch (answer.status) {
    case "claimed": {
      const { claim, attempt, leaseEndsAt } = answer
      const body: z.output<typeof BegunBody> = {
        status: "running",
        claim: writeClaim(claim),
        attempt,
        leaseEndsAt: timeOf(leaseEndsAt),
      }
      return { status: 201, body }
    }
    case "recorded":
      return { status: 200, body: await recordedBody(parts, key, answer, true) }
    case "running": {
      const left = Math.ceil((answer.leaseEndsAt - parts.now()) / 1_000)
      const seconds = Math.min(Math.max(left, 1), LONGEST_RETRY_SECONDS)
      const detail = "Another attempt is running; begin again later, or with waitSeconds, to get its outcome."
      return passingProblem("operation_in_progress", seconds, detail, { leaseEndsAt: timeOf(answer.leaseEndsAt) })
    }
    case "unknown":
      return problem(
        "operation_outcome_unknown",
        "An attempt vanished, and its effect may have happened; find out, then say so with resolve.",
      )
    case "mismatch":
      return problem("operation_mismatch", "This key belongs to another request; use a new key for this one.")
  }
}

type Input = { readonly ok: true; readonly fingerprint: Uint8Array } | { readonly ok: false; readonly answer: Answer }

/** The input of the operation in 16 bytes: its request as states are bound to one, or the caller's own words for it. */
async function inputOf({ request, fingerprint }: z.output<typeof BeginBody>): Promise<Input> {
  if (request === undefined) return { ok: true, fingerprint: hash("waxseal fingerprint v1", fingerprint) }
  const { method, target } = request
  const digested = await digestOf(request)
  if (!digested.ok) return digested
  return { ok: true, fingerprint: hash("waxseal request v1", method, target, digested.digest) }
}

/** Without an id of its own, an attempt is like no other. */
function attemptOf({ random }: ApiParts, attemptId: string | undefined): Uint8Array {
  return attemptId === undefined ? random(new Uint8Array(HASH_BYTES)) : hash("waxseal attempt v1", attemptId)
}

function hash(label: string, ...parts: readonly (string | Uint8Array | undefined)[]): Uint8Array {
  return sha256(pae(label, ...parts)).slice(0, HASH_BYTES)
}
