import {
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  ResourceTemplate,
} from "@modelcontextprotocol/server"
import type { Json } from "../brands.ts"
import { type Operation, type Report, runOperation } from "../operation/index.ts"
import type { Exchange } from "./exchange.ts"
import { createLegs } from "./legs.ts"
import { canAsk, type Offer } from "./offer.ts"
import { askResult, CANNOT_ASK, outcomeError, rethrown } from "./wire.ts"

/**
 * Offers an operation as a resource template. The variables of the URI are its input; `contents` makes the resource of
 * what the effect gave. An outcome other than `completed`, or one whose data was not kept, is a JSON-RPC error with code
 * 1001 and the outcome as its data.
 *
 * @param uriTemplate as RFC 6570 has it, such as `notes://{name}`
 *
 * @example
 * operationResource(reveal, "notes://{name}", { title: "Note", description: "Asks first.", mimeType: "text/plain" },
 *   ({ text }) => String(text))
 */
export function operationResource<Input>(
  operation: Operation<Input>,
  uriTemplate: string,
  config: { readonly title: string; readonly description: string; readonly mimeType: string },
  contents: (data: { readonly [member: string]: Json }) => string,
): Offer {
  const { name } = operation
  const template = new ResourceTemplate(uriTemplate, { list: undefined })
  return {
    method: "resources/read",
    takes: (uri) => template.uriTemplate.match(uri) !== null,
    serve(exchanges) {
      const callOf = ({ called: { target: uri = "" } }: Exchange) =>
        ({ method: "resources/read", target: uri, input: variables(template, uri) }) as const
      const legs = createLegs<never>(exchanges, callOf, (leg, parts) => runOperation(operation, leg, parts))
      return {
        takeState: legs.takeState,
        register(server) {
          server.registerResource(name, template, config, async (_uri, _variables, context) => {
            if (!canAsk(exchanges)) throw new ProtocolError(ProtocolErrorCode.InvalidRequest, CANNOT_ASK)
            const end = await legs.end(context).catch(rethrown)
            switch (end.kind) {
              case "ask":
                return askResult(end)
              case "report":
                if (!isShown(end.report)) throw outcomeError(end.report)
                return resource(callOf(exchanges.of(context)).target, config.mimeType, contents(end.report.data))
              case "result":
                return end.result
            }
          })
        },
      }
    },
  }
}

/** As their author wrote them (RFC 6570 3.2.2 encodes them); what has no such form stays as it is, and names nothing. */
function variables({ uriTemplate }: ResourceTemplate, uri: string): unknown {
  const entries = Object.entries(uriTemplate.match(uri) ?? {})
  return Object.fromEntries(entries.map(([name, value]) => [name, typeof value === "string" ? decoded(value) : value]))
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

/** A repeat of what was not kept is completed too, and has nothing to show. */
function isShown({ status, data }: Report): boolean {
  return status === "completed" && !data["resultOmitted"]
}

function resource(uri: string, mimeType: string, text: string): ReadResourceResult {
  return { contents: [{ uri, mimeType, text }] }
}
