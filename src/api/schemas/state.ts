import { z } from "zod"
import {
  DEFAULT_ROUNDS,
  DEFAULT_TTL_SECONDS,
  MOST_ROUNDS,
  SHORTEST_DEFAULT_DEADLINE_SECONDS,
} from "../../seal/index.ts"
import {
  AttemptId,
  documented,
  json,
  McpRequest,
  OperationIdText,
  PrincipalName,
  seconds,
  Text,
  Time,
} from "./common.ts"

const LONGEST_SECONDS = 86_400

const RequestState = z
  .string()
  .register(documented, { id: "RequestState", description: "Sealed and opaque; pass it on byte for byte." })

/** What a state is bound to; it opens for exactly these. */
const boundMembers = {
  principal: PrincipalName,
  audience: Text.exactOptional(),
  request: McpRequest,
}

export const sealMembers = {
  state: json("What to seal: any JSON, at most 4 KiB of text."),
  ...boundMembers,
  ttlSeconds: seconds(1, LONGEST_SECONDS, `Life of this state; ${DEFAULT_TTL_SECONDS} by default.`).exactOptional(),
  maxRounds: z
    .int()
    .min(1)
    .max(MOST_ROUNDS)
    .register(documented, { description: `How many rounds a chain may have; ${DEFAULT_ROUNDS} by default.` })
    .exactOptional(),
  deadlineSeconds: seconds(
    1,
    LONGEST_SECONDS,
    `Life of the operation, at least ttlSeconds; by default the greater of ttlSeconds and ${SHORTEST_DEFAULT_DEADLINE_SECONDS}.`,
  ).exactOptional(),
  continues: RequestState.exactOptional(),
}

interface SealRules {
  readonly ttlSeconds?: number
  readonly maxRounds?: number
  readonly deadlineSeconds?: number
  readonly continues?: string
}

function checkSeal(body: SealRules, context: z.RefinementCtx): void {
  const { continues, maxRounds, deadlineSeconds, ttlSeconds = DEFAULT_TTL_SECONDS } = body
  const refuse = (member: string, message: string) => context.addIssue({ code: "custom", path: [member], message })
  const inherited = "must not stand beside continues: the first round decided it"
  if (continues !== undefined && maxRounds !== undefined) refuse("maxRounds", inherited)
  if (continues !== undefined && deadlineSeconds !== undefined) refuse("deadlineSeconds", inherited)
  if (deadlineSeconds !== undefined && deadlineSeconds < ttlSeconds) {
    refuse("deadlineSeconds", `must be at least ttlSeconds (${ttlSeconds})`)
  }
}

export const openMembers = { requestState: RequestState, ...boundMembers }
export const redeemMembers = { ...openMembers, attemptId: AttemptId.exactOptional() }

const REQUEST = { method: "tools/call", target: "create_project", arguments: { name: "orders", account: "acme" } }
const STATE = { step: "approval", cost: 40 }
const SEALED_STATE = "AaFbsDK2mAqCaHqTKjvwLbLZAZ0d1vL7JtY_kQ"

export const SEAL_EXAMPLE = { state: STATE, principal: "user_123", request: REQUEST }

export const SealBody = z
  .strictObject(sealMembers)
  .superRefine(checkSeal)
  .register(documented, {
    id: "SealBody",
    examples: [
      SEAL_EXAMPLE,
      { state: { ...STATE, step: "region" }, principal: "user_123", request: REQUEST, continues: SEALED_STATE },
    ],
  })

export const OpenBody = z.strictObject(openMembers).register(documented, {
  id: "OpenBody",
  examples: [{ requestState: SEALED_STATE, principal: "user_123", request: REQUEST }],
})

export const RedeemBody = z.strictObject(redeemMembers).register(documented, {
  id: "RedeemBody",
  examples: [
    { requestState: SEALED_STATE, principal: "user_123", request: REQUEST, attemptId: "3b1f0c6e-8f0a-4b8e-9a54" },
  ],
})

/** How far an operation is, and until when. */
const progress = {
  operationId: OperationIdText,
  round: z.int().min(1),
  issuedAt: Time,
  expiresAt: Time,
  deadline: Time,
}

const TIMES = {
  issuedAt: "2026-11-30T09:00:00.000Z",
  expiresAt: "2026-11-30T09:05:00.000Z",
  deadline: "2026-11-30T09:10:00.000Z",
}
const OPENED = {
  state: STATE,
  operationId: "RM-cAqCaHqTKjvwL",
  round: 1,
  ...TIMES,
  keyId: "5f1c0a9b",
  needsReseal: false,
}

export const SEALED_EXAMPLE = { requestState: SEALED_STATE, operationId: "RM-cAqCaHqTKjvwL", round: 1, ...TIMES }

export const SealedBody = z.strictObject({ requestState: RequestState, ...progress }).register(documented, {
  id: "SealedBody",
  examples: [SEALED_EXAMPLE],
})

const opened = {
  state: json("What was sealed."),
  ...progress,
  keyId: z.string(),
  needsReseal: z
    .boolean()
    .register(documented, { description: "Another key seals by now; the state is good until it expires." }),
}

export const OpenedBody = z.strictObject(opened).register(documented, { id: "OpenedBody", examples: [OPENED] })

export const RedeemedBody = z
  .strictObject({
    ...opened,
    redeemedAt: Time,
    replayed: z.boolean().register(documented, { description: "This very attempt redeemed it in an earlier request." }),
  })
  .register(documented, {
    id: "RedeemedBody",
    examples: [{ ...OPENED, redeemedAt: "2026-11-30T09:01:00.000Z", replayed: false }],
  })
