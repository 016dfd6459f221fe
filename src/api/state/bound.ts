import type { z } from "zod"
import type { Identity } from "../../auth/index.ts"
import { type Binding, type Contents, digestArguments } from "../../seal/index.ts"
import type { Answer } from "../answer.ts"
import type { Call } from "../call.ts"
import { misfitAt, refusedState } from "../problems.ts"
import { type McpRequest, timeOf } from "../schemas/common.ts"
import type { OpenBody, OpenedBody } from "../schemas/state.ts"

type Request = z.output<typeof McpRequest>
type Addressed = Pick<z.output<typeof OpenBody>, "principal" | "audience" | "request">

interface Refused {
  readonly ok: false
  readonly answer: Answer
}

type Bound = { readonly ok: true; readonly binding: Binding } | Refused

/** What a state of this caller's tenant is bound to. Bound to the tenant, not the caller: its servers share states. */
export async function bind({ tenant }: Identity, { principal, audience, request }: Addressed): Promise<Bound> {
  const { method, target } = request
  const digested = await digestOf(request)
  if (!digested.ok) return digested
  const { digest: argumentsDigest } = digested
  return {
    ok: true,
    binding: {
      tenant,
      principal,
      method,
      target,
      ...(audience !== undefined && { audience }),
      ...(argumentsDigest && { argumentsDigest }),
    },
  }
}

type Digested = { readonly ok: true; readonly digest: Uint8Array | undefined } | Refused

/** The digest of a request's arguments, sent or taken here; none where it has none. */
export async function digestOf({ arguments: sent, argumentsDigest }: Request): Promise<Digested> {
  if (sent === undefined) return { ok: true, digest: argumentsDigest }
  const digested = await digestArguments(sent)
  return digested.ok
    ? digested
    : { ok: false, answer: misfitAt("/request/arguments", `cannot be bound: ${digested.problem}`) }
}

type Opened = { readonly ok: true; readonly contents: Contents; readonly body: z.output<typeof OpenedBody> } | Refused

/** Opens a state without any I/O. */
export async function open(name: string, { parts }: Call, binding: Binding, state: string): Promise<Opened> {
  const opened = await parts.sealer.open(binding, state)
  if (!opened.ok) {
    parts.observe({ event: "state_refused", name, reason: opened.reason })
    return { ok: false, answer: refusedState(opened.reason) }
  }
  const { contents, keyId, needsReseal } = opened
  return { ok: true, contents, body: { state: contents.state, ...progressOf(contents), keyId, needsReseal } }
}

type Progress = Pick<Contents, "operation" | "round" | "issuedAt" | "expiresAt" | "deadline">

export function progressOf({ operation, round, issuedAt, expiresAt, deadline }: Progress) {
  return {
    operationId: operation,
    round,
    issuedAt: timeOf(issuedAt),
    expiresAt: timeOf(expiresAt),
    deadline: timeOf(deadline),
  }
}
