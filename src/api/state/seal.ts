import type { z } from "zod"
import type { Json } from "../../brands.ts"
import { type Binding, type Draft, firstRound, nextRound, SealError, stateProblem } from "../../seal/index.ts"
import type { Answer } from "../answer.ts"
import type { ApiParts, Call } from "../call.ts"
import { endpoint, NO_PARAMETERS } from "../endpoint.ts"
import { misfitAt, problem } from "../problems.ts"
import { SealBody, SealedBody } from "../schemas/state.ts"
import { bind, open, progressOf } from "./bound.ts"

type Body = z.output<typeof SealBody>
type Drafted = { readonly ok: true; readonly draft: Draft } | { readonly ok: false; readonly answer: Answer }

const NAME = "seal"

export const seal = endpoint({
  name: NAME,
  method: "POST",
  path: "/seal",
  scope: "state:seal",
  summary: "Seals a state; with continues, the next round's. Stores nothing.",
  parameters: NO_PARAMETERS,
  body: SealBody,
  answers: { 200: SealedBody },
  problems: ["invalid_request_state", "rounds_exceeded"],
  handle: sealState,
})

async function sealState(call: Call, body: Body): Promise<Answer> {
  const bound = await bind(call.identity, body)
  if (!bound.ok) return bound.answer
  const { continues, state } = body
  const { parts } = call
  if (continues === undefined) {
    return sealed(parts, bound.binding, { ...firstRound(body, parts.now()), home: parts.home(), state })
  }
  const drafted = await continued(call, body, bound.binding, continues)
  if (drafted.ok) return sealed(parts, bound.binding, drafted.draft)
  return unfit(state) ?? drafted.answer
}

/** What the first round decided stays: operation, deadline, limit and home. */
async function continued(call: Call, body: Body, binding: Binding, continues: string): Promise<Drafted> {
  const opened = await open(NAME, call, binding, continues)
  if (!opened.ok) return opened
  const round = nextRound(opened.contents, body, call.parts.now())
  if (round) return { ok: true, draft: { ...round, state: body.state } }
  return { ok: false, answer: problem("rounds_exceeded", "Seal anew, without continues, to begin another operation.") }
}

/** A state that no round can carry is told before what became of the round. */
function unfit(state: Json): Answer | undefined {
  const problem = stateProblem(state)
  return problem === undefined ? undefined : misfitAt("/state", `The state cannot be sealed: ${problem}.`)
}

async function sealed({ sealer }: ApiParts, binding: Binding, draft: Draft): Promise<Answer> {
  try {
    const { token, operation } = await sealer.seal(binding, draft)
    const body: z.output<typeof SealedBody> = { requestState: token, ...progressOf({ ...draft, operation }) }
    return { status: 200, body }
  } catch (error) {
    if (error instanceof SealError && error.code === "invalid_state") return misfitAt("/state", error.message)
    throw error
  }
}
