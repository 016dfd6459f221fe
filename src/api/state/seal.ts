import type { z } from "zod"
import { type Binding, type Draft, SealError } from "../../seal/index.ts"
import type { Answer } from "../answer.ts"
import type { ApiParts, Call } from "../call.ts"
import { endpoint, NO_PARAMETERS } from "../endpoint.ts"
import { misfitAt, problem } from "../problems.ts"
import {
  DEFAULT_ROUNDS,
  DEFAULT_TTL_SECONDS,
  SealBody,
  SealedBody,
  SHORTEST_DEFAULT_DEADLINE_SECONDS,
} from "../schemas/state.ts"
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
  const { continues } = body
  const drafted =
    continues === undefined ? firstRound(call.parts, body) : await nextRound(call, body, bound.binding, continues)
  return drafted.ok ? sealed(call.parts, bound.binding, drafted.draft) : drafted.answer
}

function firstRound({ now, home }: ApiParts, body: Body): Drafted {
  const { state, ttlSeconds = DEFAULT_TTL_SECONDS, maxRounds = DEFAULT_ROUNDS } = body
  const { deadlineSeconds = Math.max(SHORTEST_DEFAULT_DEADLINE_SECONDS, ttlSeconds) } = body
  const issuedAt = now()
  return {
    ok: true,
    draft: {
      round: 1,
      roundLimit: maxRounds,
      issuedAt,
      expiresAt: issuedAt + ttlSeconds * 1_000,
      deadline: issuedAt + deadlineSeconds * 1_000,
      home: home(),
      state,
    },
  }
}

/** What the first round decided stays: operation, deadline, limit and home. */
async function nextRound(call: Call, body: Body, binding: Binding, continues: string): Promise<Drafted> {
  const opened = await open(NAME, call, binding, continues)
  if (!opened.ok) return opened
  const { contents: before } = opened
  if (before.roundLimit !== undefined && before.round >= before.roundLimit) {
    return {
      ok: false,
      answer: problem("rounds_exceeded", "Seal anew, without continues, to begin another operation."),
    }
  }
  const { state, ttlSeconds = DEFAULT_TTL_SECONDS } = body
  // Of two clocks of one deployment the later one counts: time never runs back within an operation.
  const issuedAt = Math.max(call.parts.now(), before.issuedAt)
  const expiresAt = Math.min(issuedAt + ttlSeconds * 1_000, before.deadline)
  return { ok: true, draft: { ...before, round: before.round + 1, issuedAt, expiresAt, state } }
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
