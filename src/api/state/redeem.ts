import { sha256 } from "@noble/hashes/sha2.js"
import type { z } from "zod"
import type { Contents } from "../../seal/index.ts"
import { pae } from "../../seal/index.ts"
import type { Answer } from "../answer.ts"
import type { Call } from "../call.ts"
import { endpoint, NO_PARAMETERS } from "../endpoint.ts"
import { problem, refusedState } from "../problems.ts"
import { timeOf } from "../schemas/common.ts"
import { RedeemBody, RedeemedBody } from "../schemas/state.ts"
import { bind, open } from "./bound.ts"

const NAME = "redeem"
const FINGERPRINT_BYTES = 16

export const redeem = endpoint({
  name: NAME,
  method: "POST",
  path: "/redeem",
  scope: "state:redeem",
  summary: "Opens a state and spends its operation: of any number of racing calls one is first.",
  parameters: NO_PARAMETERS,
  body: RedeemBody,
  answers: { 200: RedeemedBody },
  problems: ["invalid_request_state", "already_redeemed", "overloaded"],
  handle: redeemState,
})

/** Invariant: the ledger hears of states that have opened and of no others, so a refused call spends nothing. */
async function redeemState(call: Call, body: z.output<typeof RedeemBody>): Promise<Answer> {
  const bound = await bind(call.identity, body)
  if (!bound.ok) return bound.answer
  const opened = await open(NAME, call, bound.binding, body.requestState)
  if (!opened.ok) return opened.answer

  const { contents } = opened
  const settled = await settle(call, contents, fingerprint(call, body))
  switch (settled.outcome) {
    case "late":
      return refusedState("expired")
    case "already_redeemed":
      return problem("already_redeemed", "Act only on your own redemption; this operation was spent by another.", {
        redeemedAt: timeOf(settled.at),
      })
    case "redeemed":
    case "replayed": {
      const replayed = settled.outcome === "replayed"
      const answer: z.output<typeof RedeemedBody> = { ...opened.body, redeemedAt: timeOf(settled.at), replayed }
      return { status: 200, body: answer }
    }
  }
}

type Settled =
  | { readonly outcome: "redeemed" | "replayed" | "already_redeemed"; readonly at: number }
  | { readonly outcome: "late" }

async function settle(call: Call, contents: Contents, fingerprint: Uint8Array): Promise<Settled> {
  const { parts, identity } = call
  const { operation, deadline, home, round } = contents
  const answer = await parts.ledger.settle(
    { tenant: identity.tenant, operation, deadline, home },
    "completed",
    fingerprint,
  )
  switch (answer.status) {
    case "late":
      return { outcome: "late" }
    case "settled":
    case "recorded": {
      const outcome = answer.status === "settled" ? "redeemed" : answer.sameInput ? "replayed" : "already_redeemed"
      parts.observe({ event: "redeem", operation, round, outcome })
      return { outcome, at: answer.recordedAt }
    }
    case "running":
    case "unknown":
      throw new Error("A sealed operation of this API is redeemed in one step, and this one has an attempt at work.")
  }
}

/**
 * Tells the same attempt from others: this caller's, with this very state. An attempt that swaps one state of an
 * operation for another is another attempt, for what it would act on was never redeemed.
 */
function fingerprint({ identity, parts }: Call, body: z.output<typeof RedeemBody>): Uint8Array {
  const { attemptId, requestState } = body
  if (attemptId === undefined) return parts.random(new Uint8Array(FINGERPRINT_BYTES))
  const input = pae("waxseal redeem v1", identity.principal, attemptId, requestState)
  return sha256(input).slice(0, FINGERPRINT_BYTES)
}
