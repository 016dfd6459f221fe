import type { z } from "zod"
import type { Answer } from "../answer.ts"
import type { Call } from "../call.ts"
import { endpoint, NO_PARAMETERS } from "../endpoint.ts"
import { OpenBody, OpenedBody } from "../schemas/state.ts"
import { bind, open as openBound } from "./bound.ts"

const NAME = "open"

export const open = endpoint({
  name: NAME,
  method: "POST",
  path: "/open",
  scope: "state:open",
  summary: "Opens a state and consumes nothing.",
  parameters: NO_PARAMETERS,
  body: OpenBody,
  answers: { 200: OpenedBody },
  problems: ["invalid_request_state"],
  handle: openState,
})

async function openState(call: Call, body: z.output<typeof OpenBody>): Promise<Answer> {
  const bound = await bind(call.identity, body)
  if (!bound.ok) return bound.answer
  const opened = await openBound(NAME, call, bound.binding, body.requestState)
  return opened.ok ? { status: 200, body: opened.body } : opened.answer
}
