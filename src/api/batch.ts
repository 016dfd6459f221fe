import { z } from "zod"
import type { Json } from "../brands.ts"
import type { Answer } from "./answer.ts"
import type { Call } from "./call.ts"
import { endpoint, NO_PARAMETERS } from "./endpoint.ts"
import { misfit, problem, tooManyCalls } from "./problems.ts"
import { BatchAnswers, BatchBody } from "./schemas/batch.ts"
import { open } from "./state/open.ts"
import { redeem } from "./state/redeem.ts"
import { seal } from "./state/seal.ts"

const NAME = "batch"
const CALLS = { seal, open, redeem }

const Entry = z.looseObject({ op: z.enum(["seal", "open", "redeem"]) })
/** All that was sent, a member called `__proto__` too, which a copy by schema would lose. */
const Members = z.custom<Readonly<Record<string, unknown>>>((value) => typeof value === "object" && value !== null)

export const batch = endpoint({
  name: NAME,
  method: "POST",
  path: "/batch",
  summary: "Seals, opens and redeems up to 100 states at once, each as by itself.",
  parameters: NO_PARAMETERS,
  body: BatchBody,
  answers: { 200: BatchAnswers },
  problems: [],
  handle: async (call, { requests }) => {
    const answers = await Promise.all(requests.map((entry, index) => answerEntry(call, entry, index)))
    const responses: Json = answers.map(({ status, body }) => ({ status, body }))
    return { status: 200, body: { responses } }
  },
})

/** The door has counted the batch as one call: that is its first entry. */
async function answerEntry(call: Call, entry: unknown, index: number): Promise<Answer> {
  const { identity, parts } = call
  if (index > 0 && !(await parts.rateLimiter(identity.principal))) {
    parts.observe({ event: "rate_limited", name: NAME })
    return tooManyCalls()
  }
  const parsed = Entry.safeParse(entry)
  if (!parsed.success) return misfit("invalid_body", parsed.error)
  const { op } = parsed.data
  const { op: _, ...body } = Members.parse(entry)
  const { scope, run } = CALLS[op]
  if (scope !== undefined && !identity.scopes.has(scope)) {
    return problem("insufficient_scope", `The access token lacks the scope ${scope}.`)
  }
  return run(call, body, {})
}
