import { type GetPromptResult, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server"
import { type Inquiry, runInquiry } from "../operation/index.ts"
import { type Askable, argumentsOf, createLegs } from "./legs.ts"
import { askResult, NEEDS_NEWER_CLIENT, outcomeError } from "./wire.ts"

/** Offers an inquiry as a prompt. */
export function inquiryPrompt<Input>(
  inquiry: Inquiry<Input, GetPromptResult>,
  config: { readonly title: string; readonly description: string },
): Askable {
  const { name, input: argsSchema } = inquiry
  return {
    serve(exchange, era) {
      const sent = argumentsOf(exchange.body)
      const legs = createLegs(
        exchange,
        { method: "prompts/get", target: name, arguments: sent, input: sent },
        (call, parts) => runInquiry(inquiry, call, parts),
      )
      return {
        takes: (method, target) => method === "prompts/get" && target === name,
        verify: legs.verify,
        register(server) {
          server.registerPrompt(name, { ...config, argsSchema }, async (_input, context) => {
            if (era === "legacy") throw new ProtocolError(ProtocolErrorCode.InvalidRequest, NEEDS_NEWER_CLIENT)
            const end = await legs.end(context)
            switch (end.kind) {
              case "ask":
                return askResult(end)
              case "report":
                throw outcomeError(end.report)
              case "result":
                return end.result
            }
          })
        },
      }
    },
  }
}
