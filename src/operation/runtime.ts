import { z } from "zod"
import type { Binding } from "../seal/index.ts"
import { canonicalJson, digestArguments } from "../seal/index.ts"
import type { Operation } from "./define.ts"
import { Dialogue } from "./dialogue.ts"
import type { Caller, Leg, LegEnd, Responses, RuntimeParts, Verified } from "./leg.ts"
import { report } from "./report.ts"

/** One request, as it came. */
export interface Call {
  readonly caller: Caller
  readonly audience: string
  readonly method: "tools/call" | "prompts/get" | "resources/read"
  readonly target: string
  /** The arguments as sent: state is bound to them. */
  readonly arguments: unknown
  readonly state: string | undefined
  /** The client's `inputResponses`, untrusted. */
  readonly responses: unknown
}

/** A first leg that cannot begin. Its message may be shown to the caller. */
export class InvalidArguments extends Error {
  override readonly name = "InvalidArguments"
}

/**
 * Runs one leg of an operation: verifies the state it brings, enters the handler, and gives how the leg ended.
 *
 * @throws InvalidArguments on a first leg whose arguments do not fit the operation's schema, or cannot be sealed
 */
export async function runLeg<Input>(operation: Operation<Input>, call: Call, parts: RuntimeParts): Promise<LegEnd> {
  const binding = await bind(call)
  const verified = call.state === undefined ? undefined : await verify(call.state, binding, parts)
  if (verified?.kind === "refused") {
    parts.observe({ event: "state_refused", name: operation.name, reason: verified.reason })
    return verified
  }
  const input = operation.input.safeParse(call.arguments ?? {})
  if (!input.success) throw new InvalidArguments(`Invalid arguments: ${z.prettifyError(input.error)}`)
  const leg = { parts, caller: call.caller, binding, verified, responses: readResponses(call.responses) }
  const end = await enter(operation, input.data, leg)
  observeEnd(operation.name, end, leg)
  return end
}

async function bind({ caller, audience, method, target, arguments: sent }: Call): Promise<Binding> {
  const { tenant, principal } = caller
  const binding = { tenant, principal, audience, method, target }
  if (sent === undefined) return binding
  const digest = await digestArguments(sent)
  if (!digest.ok) throw new InvalidArguments(`Invalid arguments: ${digest.problem}`)
  return { ...binding, argumentsDigest: digest.digest }
}

async function verify(
  state: string,
  binding: Binding,
  { sealer }: RuntimeParts,
): Promise<({ kind: "verified" } & Verified) | Extract<LegEnd, { kind: "refused" }>> {
  const opened = await sealer.open(binding, state)
  if (opened.ok) return { kind: "verified", contents: opened.contents, expired: false }
  if (opened.reason === "expired" && opened.authentic) {
    return { kind: "verified", contents: opened.authentic, expired: true }
  }
  return { kind: "refused", reason: opened.reason }
}

const ResponseMap = z.record(z.string(), z.unknown())

/** Answers that are no object, or that RFC 8785 cannot write, answer nothing. */
function readResponses(sent: unknown): Responses {
  const byKey = ResponseMap.safeParse(sent)
  const canonical = byKey.success ? canonicalJson(byKey.data) : undefined
  return byKey.success && canonical?.ok
    ? { byKey: byKey.data, canonical: canonical.text }
    : { byKey: {}, canonical: "" }
}

async function enter<Input>(operation: Operation<Input>, input: Input, leg: Leg): Promise<LegEnd> {
  const { name, asked, handler } = operation
  try {
    return await new Promise<LegEnd>((resolve, reject) => {
      handler(new Dialogue(operation, asked, leg, resolve), input).then(() => {
        reject(new TypeError(`${name} returned without a commit or a decline.`))
      }, reject)
    })
  } catch (error) {
    leg.parts.observe({ event: "fault", name, error: error instanceof Error ? error.name : typeof error })
    if (!leg.verified) throw new Error("The server failed before anything was done.")
    return {
      kind: "report",
      report: report("failed", leg.verified.contents.operation, {
        retryable: true,
        text: "The server failed.",
        nextAction: "Send the same request with the same requestState again.",
      }),
    }
  }
}

function observeEnd(name: string, end: LegEnd, { parts, verified }: Leg): void {
  if (end.kind === "refused") parts.observe({ event: "state_refused", name, reason: end.reason })
  if (end.kind === "report") {
    const { operationId, status } = end.report
    parts.observe({ event: "outcome", operation: operationId, name, round: verified?.contents.round ?? 0, status })
  }
}
