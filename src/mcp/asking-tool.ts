import type {
  CallToolResult,
  InputRequiredResult,
  ScopeChallengeHandler,
  ServerContext,
  StandardSchemaWithJSON,
  ToolAnnotations,
} from "@modelcontextprotocol/server"
import { z } from "zod"
import {
  type Call,
  DefinitionError,
  type Inquiry,
  type InquiryEnd,
  type Operation,
  type Report,
  type RuntimeParts,
  runInquiry,
  runOperation,
  STATUSES,
} from "../operation/index.ts"
import { convertedOnce } from "./converted-once.ts"
import { observeFault } from "./fault.ts"
import { createLegs } from "./legs.ts"
import { canAsk, type Offer } from "./offer.ts"
import { askResult, CANNOT_ASK } from "./wire.ts"

/** How a tool is described to clients, in the SDK's own terms. */
export interface ToolConfig {
  readonly title: string
  readonly description: string
  readonly annotations?: ToolAnnotations
  /** The scopes to ask for before a first leg. Later legs find out under the lease, so that what they lack is recorded. */
  readonly scopeChallenge?: ScopeChallengeHandler
}

/** What every operation's result says of itself, beside what it made. */
const OUTCOME = {
  status: z.enum(STATUSES),
  retryable: z.boolean(),
  operationId: z.string(),
  nextAction: z.string(),
  recorded: z.string().optional(),
  resultOmitted: z.boolean().optional(),
}

/**
 * Offers an operation as a tool. `result` names the members that the operation's own data adds, all optional: every
 * outcome has the same shape, and most have nothing to add.
 *
 * @example
 * operationTool(greet, { title: "Greet", description: "Greets, once.", result: { greeted: z.string().optional() } })
 */
export function operationTool<Input>(
  operation: Operation<Input>,
  { result, ...config }: ToolConfig & { readonly result: Record<string, z.ZodOptional> },
): Offer {
  const outputSchema = z.object({ ...OUTCOME, ...result })
  const { name, input } = operation
  const data = z.object(result)
  return tool(name, input, { ...config, outputSchema: convertedOnce(outputSchema) }, async (call, parts) => {
    const end = await runOperation(operation, call, parts)
    if (end.kind !== "report" || data.safeParse(end.report.data).success) return end
    // It happened and is recorded: an error in place of its outcome would have it asked for again.
    observeFault(parts, call.caller, "tools/call", name, new DefinitionError(`What ${name} gives is not its result.`))
    return { ...end, report: { ...end.report, data: { resultOmitted: true } } }
  })
}

/**
 * Offers an inquiry as a tool; its result is the SDK's own `CallToolResult`.
 *
 * @example
 * inquiryTool(brief, { title: "Brief", description: "Writes a brief for whom you name." })
 */
export function inquiryTool<Input>(inquiry: Inquiry<Input, CallToolResult>, config: ToolConfig): Offer {
  const { name, input } = inquiry
  return tool(name, input, config, (call, parts) => runInquiry(inquiry, call, parts))
}

function tool(
  name: string,
  input: z.ZodType,
  { scopeChallenge, ...config }: ToolConfig & { readonly outputSchema?: StandardSchemaWithJSON },
  run: (call: Call, parts: RuntimeParts) => Promise<InquiryEnd<CallToolResult>>,
): Offer {
  const unguarded = { ...config, inputSchema: convertedOnce(input) }
  const guarded = { ...unguarded, ...(scopeChallenge && { scopeChallenge }) }
  return {
    method: "tools/call",
    takes: (target) => target === name,
    serve(exchanges) {
      const legs = createLegs(
        exchanges,
        ({ called }) => ({ method: "tools/call", target: name, input: called.arguments }),
        run,
      )
      return {
        takeState: legs.takeState,
        register(server) {
          server.registerTool(
            name,
            exchanges.only?.called.hasState ? unguarded : guarded,
            async (_input: unknown, context: ServerContext) =>
              canAsk(exchanges) ? toolResult(await legs.end(context)) : errorResult(CANNOT_ASK),
          )
        },
      }
    },
  }
}

function toolResult(
  end: Exclude<InquiryEnd<CallToolResult>, { kind: "refused" }>,
): CallToolResult | InputRequiredResult {
  switch (end.kind) {
    case "ask":
      return askResult(end)
    case "report":
      return reportResult(end.report)
    case "result":
      return end.result
  }
}

function errorResult(text: string): CallToolResult {
  return { content: [{ type: "text", text }], isError: true }
}

function reportResult({ data, text, ...outcome }: Report): CallToolResult {
  const isError = isErrorStatus(outcome.status)
  return {
    content: [{ type: "text", text: isError ? `${text} ${outcome.nextAction}` : text }],
    structuredContent: { ...data, ...outcome },
    ...(isError && { isError }),
  }
}

/** A person's no is an answer, not an error. */
function isErrorStatus(status: Report["status"]): boolean {
  switch (status) {
    case "completed":
    case "declined":
    case "cancelled":
      return false
    case "failed":
    case "policy_changed":
    case "already_used":
    case "in_progress":
    case "outcome_unknown":
    case "rounds_exceeded":
      return true
  }
}
