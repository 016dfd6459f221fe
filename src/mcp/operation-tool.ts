import {
  type CallToolResult,
  type InputRequiredResult,
  inputRequired,
  type McpServer,
  type ServerContext,
  type ToolAnnotations,
} from "@modelcontextprotocol/server"
import { z } from "zod"
import { type Call, type LegEnd, type Operation, type Report, type RuntimeParts, runLeg } from "../operation/index.ts"
import type { Exchange } from "./exchange.ts"

/** A tool whose calls are legs of an operation. */
export interface OperationTool {
  readonly name: string
  readonly config: {
    readonly title: string
    readonly description: string
    readonly inputSchema: z.ZodType
    readonly outputSchema: z.ZodObject
    readonly annotations: ToolAnnotations
  }
  readonly run: (call: Call, parts: RuntimeParts) => Promise<LegEnd>
}

/** What every operation's result says of itself, beside what it made. */
const OUTCOME = {
  status: z.string(),
  retryable: z.boolean(),
  operationId: z.string(),
  nextAction: z.string(),
  recorded: z.string().optional(),
  resultOmitted: z.boolean().optional(),
}

/** Offers an operation as a tool. `result` names the members that the operation's own data adds, all optional. */
export function operationTool<Input>(
  operation: Operation<Input>,
  {
    result,
    ...config
  }: {
    readonly title: string
    readonly description: string
    readonly annotations: ToolAnnotations
    readonly result: Record<string, z.ZodOptional>
  },
): OperationTool {
  return {
    name: operation.name,
    config: { ...config, inputSchema: operation.input, outputSchema: z.object({ ...OUTCOME, ...result }) },
    run: (call, parts) => runLeg(operation, call, parts),
  }
}

/** The operations of one exchange, as the two things that the SDK wants: a hook that verifies state, and tools. */
export interface OperationTools {
  readonly verify: (state: string, context: ServerContext) => Promise<void>
  readonly register: (server: McpServer) => void
}

/**
 * Serves the legs of one exchange.
 *
 * The SDK turns whatever a tool throws into the tool's result; only what its verification hook throws becomes the
 * uniform -32602. A leg that brings state may be refused late (by the ledger's clock, or after a look-up), so it runs
 * whole in the hook, and the tool passes on how it ended.
 */
export function serveOperationTools(
  tools: readonly OperationTool[],
  exchange: Exchange,
  era: "legacy" | "modern",
): OperationTools {
  let endWithState: LegEnd | undefined
  const run = (tool: OperationTool, context: ServerContext, state: string | undefined) =>
    tool.run(
      {
        caller: exchange.identity,
        audience: exchange.audience,
        method: "tools/call",
        target: tool.name,
        arguments: toolCall(exchange.body)?.arguments,
        state,
        responses: context.mcpReq.inputResponses,
      },
      exchange.parts,
    )
  return {
    async verify(state, context) {
      const called = toolCall(exchange.body)?.name
      const tool = tools.find(({ name }) => name === called)
      if (era === "legacy" || context.mcpReq.method !== "tools/call" || !tool) throw new Error("no such operation")
      const end = await run(tool, context, state)
      if (end.kind === "refused") throw new Error(end.reason)
      endWithState = end
    },
    register(server) {
      for (const tool of tools) {
        server.registerTool(tool.name, tool.config, async (_input: unknown, context: ServerContext) =>
          era === "legacy" ? NEEDS_NEWER_CLIENT : wireResult(endWithState ?? (await run(tool, context, undefined))),
        )
      }
    },
  }
}

const ToolCall = z.object({ params: z.object({ name: z.string(), arguments: z.unknown() }) })

function toolCall(body: unknown): { name: string; arguments?: unknown } | undefined {
  return ToolCall.safeParse(body).data?.params
}

const NEEDS_NEWER_CLIENT: CallToolResult = {
  content: [
    {
      type: "text",
      text: "This tool asks a person before it acts, which needs a client of protocol revision 2026-07-28. Nothing was done.",
    },
  ],
  isError: true,
}

function wireResult(end: LegEnd): CallToolResult | InputRequiredResult {
  switch (end.kind) {
    case "ask":
      return inputRequired({
        ...(Object.keys(end.requests).length > 0 && { inputRequests: end.requests }),
        requestState: end.state,
      })
    case "report":
      return reportResult(end.report)
    case "refused":
      throw new Error("A leg without state cannot be refused.")
  }
}

function reportResult({ data, text, ...outcome }: Report): CallToolResult {
  const isError = isErrorStatus(outcome.status)
  return {
    content: [{ type: "text", text: isError ? `${text} ${outcome.nextAction}` : text }],
    structuredContent: { ...outcome, ...data },
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
