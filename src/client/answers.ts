// zod's small half: a quarter of the other's size, which counts in browsers and Workers.
import * as z from "zod/mini"
import type { Json } from "../brands.ts"
import { API_CODES } from "./errors.ts"

/** Members that are not known are left out, so that an API may learn to say more. */
const json = z.custom<Json>((value) => value !== undefined)
const time = z.string()

const progress = {
  operationId: z.string(),
  round: z.number(),
  issuedAt: time,
  expiresAt: time,
  deadline: time,
}

const opened = { state: json, ...progress, keyId: z.string(), needsReseal: z.boolean() }

export const Sealed = z.object({ requestState: z.string(), ...progress })
export const Opened = z.object(opened)
export const Redeemed = z.object({ ...opened, redeemedAt: time, replayed: z.boolean() })

export const BatchAnswers = z.object({
  responses: z.array(z.object({ status: z.number(), body: z.unknown() })),
})

export const Keys = z.object({
  keys: z.array(
    z.object({
      keyId: z.string(),
      suite: z.number(),
      state: z.enum(["upcoming", "sealing", "opening"]),
      sealsFrom: time,
      sealsUntil: z.optional(time),
      opensUntil: z.optional(time),
    }),
  ),
})

const attempt = z.number()
const completed = {
  status: z.literal("completed"),
  result: z.optional(json),
  resultOmitted: z.optional(z.literal(true)),
  completedAt: time,
  expiresAt: time,
  replayed: z.boolean(),
}
const failed = {
  status: z.literal("failed"),
  error: z.optional(json),
  errorOmitted: z.optional(z.literal(true)),
  retryable: z.boolean(),
  failedAt: time,
  expiresAt: time,
  replayed: z.boolean(),
}
const Running = z.object({ status: z.literal("running"), claim: z.string(), attempt, leaseEndsAt: time })

export const Completed = z.object(completed)
export const Failed = z.object(failed)
export const Begun = z.discriminatedUnion("status", [Running, Completed, Failed])
export const Ended = z.discriminatedUnion("status", [Completed, Failed])
export const Renewed = z.object({ leaseEndsAt: time })
export const Standing = z.discriminatedUnion("status", [
  z.object({
    status: z.enum(["running", "outcome_unknown"]),
    attempt,
    leaseEndsAt: time,
    lapsed: z.optional(z.literal(true)),
  }),
  z.object({ ...completed, attempt }),
  z.object({ ...failed, attempt }),
])

export const Problem = z.object({
  code: z.enum(API_CODES),
  detail: z.string(),
  reason: z.optional(z.string()),
  retryAfterSeconds: z.optional(z.number()),
  redeemedAt: z.optional(time),
  leaseEndsAt: z.optional(time),
  errors: z.optional(z.array(z.object({ path: z.string(), message: z.string() }))),
})

/** A state, and where its operation stands. Times are RFC 3339. */
export type Sealed = z.infer<typeof Sealed>
/** What a state says. */
export type Opened = z.infer<typeof Opened>
/** What a state says, whose operation is spent by this call. */
export type Redeemed = z.infer<typeof Redeemed>
export type BatchAnswers = z.infer<typeof BatchAnswers>
/** What may be shown of a key. */
export type KeyListing = z.infer<typeof Keys>["keys"][number]
/** An attempt of one's own to run, or the outcome that stands. */
export type Begun = z.infer<typeof Begun>
/** `result` is absent where it is not kept. */
export type Completed = z.infer<typeof Completed>
/** `error` is absent where it is not kept. */
export type Failed = z.infer<typeof Failed>
/** What is recorded of an attempt that ended. */
export type Ended = z.infer<typeof Ended>
/** When the lease ends now (RFC 3339). */
export type Renewed = z.infer<typeof Renewed>
/** What stands in an operation's record. `lapsed`: nobody holds the lease, and the next begin runs. */
export type Standing = z.infer<typeof Standing>
