import { z } from "zod"
import { AttemptId, documented, json, McpRequest, outcome, PrincipalName, seconds, Text, Time } from "./common.ts"

export const DEFAULT_LEASE_SECONDS = 30
export const DEFAULT_RETENTION_SECONDS = 86_400

/** The caller's own name for one logical action. */
const Key = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, "must be 1 to 255 visible ASCII characters, percent-encoded")
  .register(documented, {
    id: "OperationKey",
    description: "Yours: 1 to 255 visible ASCII characters, percent-encoded.",
  })

export const KeyParameters = z.object({ key: Key })
export const ReadParameters = z.object({ key: Key, principal: PrincipalName.exactOptional() })

const Claim = z
  .string()
  .max(512)
  .register(documented, { id: "Claim", description: "Proof that you own the running attempt; as begin gave it." })

const principal = PrincipalName.exactOptional()
const lease = seconds(1, 900, `How long the attempt may run; ${DEFAULT_LEASE_SECONDS} by default.`)

export const BeginBody = z
  .strictObject({
    request: McpRequest.exactOptional(),
    fingerprint: Text.exactOptional(),
    principal,
    attemptId: AttemptId.exactOptional(),
    leaseSeconds: lease.exactOptional(),
    retentionSeconds: seconds(
      60,
      2_592_000,
      `How long the record is kept after the last that happened; ${DEFAULT_RETENTION_SECONDS} by default. The first begin decides.`,
    ).exactOptional(),
    onLeaseEnd: z
      .enum(["report", "rerun"])
      .register(documented, {
        description:
          "When an attempt vanishes: `report` (default) says that the outcome is unknown and runs at most once; `rerun` lets the next begin run, so the effect must honour the key. The first begin decides.",
      })
      .exactOptional(),
    waitSeconds: seconds(0, 25, "How long to wait for another attempt to end; 0 by default.").exactOptional(),
  })
  .refine((body) => (body.request === undefined) !== (body.fingerprint === undefined), {
    error: "needs request or fingerprint, and not both",
  })
  .register(documented, {
    id: "BeginBody",
    oneOf: [{ required: ["request"] }, { required: ["fingerprint"] }],
    examples: [{ fingerprint: "order 7: 3 × A-113", leaseSeconds: 30 }],
  })

const CLAIM = "AAAAAaFbsDK2mAqCaHqTKjvwLbI"

const leftOut = z
  .literal(true)
  .register(documented, { description: "It is not sent, and will not be kept: what has run is recorded all the same." })

export const CompleteBody = z
  .strictObject({
    claim: Claim,
    result: outcome("What the operation came to; at most 1 MiB of JSON text is kept.").exactOptional(),
    resultOmitted: leftOut.exactOptional(),
    principal,
  })
  .refine((body) => (body.result === undefined) !== (body.resultOmitted === undefined), {
    error: "needs result or resultOmitted, and not both",
  })
  .register(documented, {
    id: "CompleteBody",
    oneOf: [{ required: ["result"] }, { required: ["resultOmitted"] }],
    examples: [{ claim: CLAIM, result: { invoice: "R-2026-7" } }],
  })

export const FailBody = z
  .strictObject({
    claim: Claim,
    error: outcome("Why it failed; at most 1 MiB of JSON text is kept.").exactOptional(),
    errorOmitted: leftOut.exactOptional(),
    retryable: z.boolean().register(documented, {
      description: "True: sure that nothing happened, and the next begin runs. False: final.",
    }),
    principal,
  })
  .refine((body) => (body.error === undefined) !== (body.errorOmitted === undefined), {
    error: "needs error or errorOmitted, and not both",
  })
  .register(documented, {
    id: "FailBody",
    oneOf: [{ required: ["error"] }, { required: ["errorOmitted"] }],
    examples: [{ claim: CLAIM, error: { message: "out of stock" }, retryable: false }],
  })

export const RenewBody = z
  .strictObject({ claim: Claim, leaseSeconds: lease, principal })
  .register(documented, { id: "RenewBody", examples: [{ claim: CLAIM, leaseSeconds: 30 }] })

export const ResolveBody = z
  .discriminatedUnion("outcome", [
    z.strictObject({
      outcome: z.literal("completed"),
      result: outcome("As complete has it.").exactOptional(),
      principal,
    }),
    z.strictObject({ outcome: z.literal("failed"), error: outcome("As fail has it.").exactOptional(), principal }),
    z.strictObject({ outcome: z.literal("rerun"), principal }),
  ])
  .register(documented, { id: "ResolveBody", examples: [{ outcome: "completed", result: { invoice: "R-2026-7" } }] })

const attempt = z.int().min(1).register(documented, { description: "Counted from 1." })

export const BegunBody = z
  .strictObject({ status: z.literal("running"), claim: Claim, attempt, leaseEndsAt: Time })
  .register(documented, {
    id: "BegunBody",
    examples: [{ status: "running", claim: CLAIM, attempt: 1, leaseEndsAt: "2026-11-30T09:00:30.000Z" }],
  })

const omitted = z.literal(true).register(documented, {
  description: "Not kept: too large, never given, or sealed with a key that has left the ring.",
})
const replayed = z.boolean().register(documented, { description: "An earlier attempt came to this." })

const completed = {
  status: z.literal("completed"),
  result: json("As it was given.").exactOptional(),
  resultOmitted: omitted.exactOptional(),
  completedAt: Time,
  expiresAt: Time,
  replayed,
}

const failed = {
  status: z.literal("failed"),
  error: json("As it was given.").exactOptional(),
  errorOmitted: omitted.exactOptional(),
  retryable: z.boolean().register(documented, { description: "The next begin runs." }),
  failedAt: Time,
  expiresAt: Time,
  replayed,
}

const COMPLETED_EXAMPLE = {
  status: "completed",
  result: { invoice: "R-2026-7" },
  completedAt: "2026-11-30T09:00:02.000Z",
  expiresAt: "2026-12-01T09:00:02.000Z",
  replayed: false,
}

export const CompletedBody = z
  .strictObject(completed)
  .register(documented, { id: "CompletedBody", examples: [COMPLETED_EXAMPLE] })
export const FailedBody = z.strictObject(failed).register(documented, {
  id: "FailedBody",
  examples: [
    {
      status: "failed",
      error: { message: "out of stock" },
      retryable: false,
      failedAt: "2026-11-30T09:00:02.000Z",
      expiresAt: "2026-12-01T09:00:02.000Z",
      replayed: false,
    },
  ],
})

export const EndedBody = z.union([CompletedBody, FailedBody]).register(documented, {
  id: "EndedBody",
  examples: [{ ...COMPLETED_EXAMPLE, replayed: true }],
})

export const RenewedBody = z.strictObject({ leaseEndsAt: Time }).register(documented, {
  id: "RenewedBody",
  examples: [{ leaseEndsAt: "2026-11-30T09:01:00.000Z" }],
})

export const StandingBody = z
  .union([
    z.strictObject({
      status: z.enum(["running", "outcome_unknown"]),
      attempt,
      leaseEndsAt: Time,
      lapsed: z
        .literal(true)
        .register(documented, {
          description: "Of `running`, under `rerun`: its lease is over. It may still complete; the next begin runs.",
        })
        .exactOptional(),
    }),
    z.strictObject({ ...completed, attempt }),
    z.strictObject({ ...failed, attempt }),
  ])
  .register(documented, {
    id: "StandingBody",
    examples: [{ status: "running", attempt: 1, leaseEndsAt: "2026-11-30T09:00:30.000Z" }],
  })
