import { type CreateMessageRequestParams, inputRequired, inputResponse } from "@modelcontextprotocol/server"
import { z } from "zod"
import type { Question } from "../question.ts"

const Sample = z.object({
  role: z.enum(["user", "assistant"]),
  content: z.json(),
  model: z.string(),
  stopReason: z.string().optional(),
})
/** What the client's model wrote. Untrusted like everything that comes from a client. */
export type Sample = z.infer<typeof Sample>

/**
 * A message for the client's own model (`sampling/createMessage`; deprecated since 2026-07-28, SEP-2577).
 *
 * @example
 * sampling({ messages: [{ role: "user", content: { type: "text", text: "Summarise: …" } }], maxTokens: 200 })
 */
export function sampling(params: CreateMessageRequestParams): Question<Sample> {
  return {
    request: inputRequired.createMessage(params),
    read(responses, key) {
      const response = inputResponse(responses, key)
      const sample = Sample.safeParse(response.kind === "sampling" ? response.result : undefined)
      return sample.success ? { kind: "answered", answer: sample.data } : { kind: "unanswered" }
    },
    recall: (sealed) => Sample.safeParse(sealed).data,
  }
}
