import { z } from "zod"
import { errorName } from "../error-name.ts"
import { type Binding, canonicalJson, digestArguments } from "../seal/index.ts"
import type { Inquiry, Operation } from "./define.ts"
import { InquiryDialogue } from "./inquiry-dialogue.ts"
import type { Caller, InquiryEnd, Leg, LegEnd, LegEvent, LegMark, Responses, RuntimeParts, Verified } from "./leg.ts"
import { DefinitionError } from "./mistake.ts"
import { OperationDialogue } from "./operation-dialogue.ts"
import { report, SEND_AGAIN } from "./report.ts"
import { Spending } from "./spending.ts"

/** One request, as it came. */
export interface Call {
  readonly caller: Caller
  readonly audience: string
  readonly method: "tools/call" | "prompts/get" | "resources/read"
  readonly target: string
  /** The arguments as sent: state is bound to them. Absent is not empty. */
  readonly arguments?: unknown
  /** What the handler's schema reads: the arguments, or the variables of a resource's URI. */
  readonly input: unknown
  readonly state: string | undefined
  /** The client's `inputResponses`, untrusted. */
  readonly responses: unknown
  /** W3C Trace Context, well-formed. */
  readonly traceparent?: string | undefined
  /** Fires when the client goes away. */
  readonly signal: AbortSignal
}

/**
 * A first leg that cannot begin; a handler may throw it before it asks. Its message is shown to the caller: one sentence
 * that names what is wrong and what to do.
 */
export class InvalidArguments extends Error {
  override readonly name = "InvalidArguments"
}

/**
 * Runs one leg of an operation: verifies the state it brings, enters the handler, and gives how the leg ended.
 *
 * @throws InvalidArguments on a first leg whose arguments do not fit the operation's schema, or cannot be sealed
 */
export function runOperation<Input>(operation: Operation<Input>, call: Call, parts: RuntimeParts): Promise<LegEnd> {
  const { name, asked, handler } = operation
  const misfit = (leg: Leg, verified: Verified) => new Spending(operation, leg, verified).settle("policy_changed")
  return run<Input, LegEnd>(operation, call, parts, misfit, async (leg, input, end) => {
    await handler(new OperationDialogue(operation, asked, leg, end), input)
    throw new DefinitionError(`${name} returned without a commit or a decline.`)
  })
}

/**
 * Runs one leg of an inquiry, which ends with the handler's result where nothing is left to ask.
 *
 * @throws InvalidArguments as `runOperation` does
 */
export function runInquiry<Input, Result>(
  inquiry: Inquiry<Input, Result>,
  call: Call,
  parts: RuntimeParts,
): Promise<InquiryEnd<Result>> {
  const { asked, handler } = inquiry
  const misfit = async (_leg: Leg, { contents }: Verified): Promise<LegEnd> => {
    return { kind: "report", report: report("policy_changed", contents.operation), phase: "ask" }
  }
  return run<Input, InquiryEnd<Result>>(inquiry, call, parts, misfit, async (leg, input, end) => {
    // Nothing of an inquiry is recorded, so expired state has nothing to look up.
    if (leg.verified?.expired) return end({ kind: "refused", reason: "expired" })
    const dialogue = new InquiryDialogue(inquiry, asked, leg, end)
    const result = await handler(dialogue, input)
    await dialogue.close()
    end({ kind: "result", result })
  })
}

async function run<Input, End extends InquiryEnd<unknown>>(
  { name, input: schema }: { readonly name: string; readonly input: z.ZodType<Input> },
  call: Call,
  parts: RuntimeParts,
  /** What becomes of state whose arguments, good when it was sealed, no longer fit. */
  misfit: (leg: Leg, verified: Verified) => Promise<LegEnd>,
  enter: (leg: Leg, input: Input, end: (end: End | LegEnd) => void) => Promise<void>,
): Promise<End | LegEnd> {
  const binding = await bind(call)
  const { caller, responses, traceparent, signal } = call
  const observe = (event: LegEvent) => parts.observe({ ...event, ...mark(name, binding, traceparent, parts) })
  const verified = call.state === undefined ? undefined : await verify(call.state, binding, parts)
  if (verified?.kind === "refused") {
    observe({ event: "state_refused", reason: verified.reason })
    return verified
  }
  const leg = { parts, caller, binding, verified, responses: readResponses(responses), traceparent, observe, signal }
  const input = schema.safeParse(call.input ?? {})
  if (!input.success && !verified) throw new InvalidArguments(`Invalid arguments: ${z.prettifyError(input.error)}`)
  const end = await new Promise<End | LegEnd>((resolve, reject) => {
    if (input.success) enter(leg, input.data, resolve).catch(reject)
    else if (verified) misfit(leg, verified).then(resolve, reject)
  }).catch((error) => fault(leg, error))
  observeEnd(end, leg)
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

/** A fault of ours or the author's must not pass for a refusal: the state is good and may be sent again. */
function fault({ observe, verified }: Leg, error: unknown): LegEnd {
  if (!verified && error instanceof InvalidArguments) throw error
  const problem = error instanceof DefinitionError ? error.message : undefined
  observe({ event: "fault", error: errorName(error), ...(problem !== undefined && { problem }) })
  if (!verified) throw new Error("The server failed before anything was done.")
  if (verified.expired) return { kind: "refused", reason: "expired" }
  const said = { retryable: true, text: "The server failed.", nextAction: SEND_AGAIN }
  return { kind: "report", report: report("failed", verified.contents.operation, said), phase: "ask" }
}

function observeEnd(end: InquiryEnd<unknown>, { observe, verified }: Leg): void {
  if (end.kind === "refused") observe({ event: "state_refused", reason: end.reason })
  if (end.kind === "report") {
    const { phase, report } = end
    const round = verified?.contents.round ?? 0
    observe({ event: "outcome", operation: report.operationId, round, phase, status: report.status })
  }
}

/** The id in `traceparent` is its second field (W3C Trace Context 3.2.2). */
function mark(name: string, binding: Binding, traceparent: string | undefined, { pseudonyms }: RuntimeParts): LegMark {
  const { tenant, principal, method, target, argumentsDigest } = binding
  const trace = traceparent?.split("-")[1]
  return {
    name,
    person: pseudonyms("person", tenant, principal),
    arguments: pseudonyms("arguments", method, target, argumentsDigest),
    ...(trace !== undefined && { trace }),
  }
}
