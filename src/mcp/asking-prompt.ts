import { type GetPromptResult, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server"
import { type Inquiry, runInquiry } from "../operation/index.ts"
import { convertedOnce } from "./converted-once.ts"
import { createLegs } from "./legs.ts"
import { canAsk, type Offer } from "./offer.ts"
import { askResult, CANNOT_ASK, outcomeError, rethrown } from "./wire.ts"

/**
 * Offers an inquiry as a prompt; its result is the SDK's own `GetPromptResult`. An outcome other than a result is a
 * JSON-RPC error with code 1001 and the outcome as its data.
 *
 * @example
 * inquiryPrompt(brief, { title: "Brief", description: "A prompt for whom you name." })
 */
export function inquiryPrompt<Input>(
  inquiry: Inquiry<Input, GetPromptResult>,
  config: { readonly title: string; readonly description: string },
): Offer {
  const { name } = inquiry
  const argsSchema = convertedOnce(inquiry.input)
  return {
    method: "prompts/get",
    takes: (target) => target === name,
    serve(exchanges) {
      const legs = createLegs(
        exchanges,
        ({ called }) => ({ method: "prompts/get", target: name, input: called.arguments }),
        (leg, parts) => runInquiry(inquiry, leg, parts),
      )
      return {
        takeState: legs.takeState,
        register(server) {
          server.registerPrompt(name, { ...config, argsSchema }, async (_input, context) => {
            if (!canAsk(exchanges)) throw new ProtocolError(ProtocolErrorCode.InvalidRequest, CANNOT_ASK)
            const end = await legs.end(context).catch(rethrown)
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
