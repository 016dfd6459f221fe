import { endpoint } from "../endpoint.ts"
import { problem } from "../problems.ts"
import { EndedBody, KeyParameters, ResolveBody } from "../schemas/operations.ts"
import { resultTooLarge } from "./end.ts"
import { keyOf } from "./key.ts"
import { boxed, outcomeBody } from "./outcome.ts"

const NAME = "resolve"

export const resolve = endpoint({
  name: NAME,
  method: "POST",
  path: "/operations/{key}/resolve",
  scope: "operations",
  summary: "Settles an unknown outcome: it happened, it failed, or it may run again.",
  parameters: KeyParameters,
  body: ResolveBody,
  answers: { 200: EndedBody },
  problems: ["not_unknown", "result_too_large", "overloaded"],
  handle: async (call, resolution, { key }) => {
    const { parts } = call
    const { outcome } = resolution
    const named = keyOf(call, key, resolution.principal)
    const value = outcome === "completed" ? resolution.result : outcome === "failed" ? resolution.error : undefined
    const { body, tooLarge } = await boxed(parts, named, value)
    const answer = await parts.keyedLedger.resolve(named, outcome === "rerun" ? { outcome } : { outcome, body })
    parts.observe({ event: "keyed_operation", name: NAME, outcome: answer.status })
    if (answer.status === "not_unknown") {
      return problem("not_unknown", "Only an outcome that is unknown can be settled; read the operation to see it.")
    }
    if (tooLarge) return resultTooLarge()
    const { endedAt: at, expiresAt } = answer
    const ended =
      outcome === "rerun" ? ({ outcome: "failed", retryable: true } as const) : ({ outcome, value } as const)
    return { status: 200, body: outcomeBody({ ...ended, at, expiresAt, replayed: false }) }
  },
})
