import { type InputRequest, inputRequired, inputResponse } from "@modelcontextprotocol/server"
import type { z } from "zod"
import type { Question } from "../question.ts"

/**
 * A form for a person (elicitation, mode `form`): a flat object of primitives, as the specification restricts it.
 * The answer is validated by the very schema that was asked.
 *
 * @throws TypeError when the schema is more than a form can show: nested objects, patterns, transforms
 * @example
 * form(z.object({ region: z.enum(["eu-west-1", "us-east-1"]) }), "In which region?")
 */
export function form<Schema extends z.ZodObject>(schema: Schema, message: string): Question<z.infer<Schema>> {
  return {
    request: formRequest(schema, message),
    read(responses, key) {
      const response = inputResponse(responses, key)
      if (response.kind !== "elicit") return { kind: "unanswered" }
      switch (response.action) {
        case "decline":
          return { kind: "declined" }
        case "cancel":
          return { kind: "cancelled" }
        case "accept": {
          const content = schema.safeParse(response.content)
          return content.success ? { kind: "answered", answer: content.data } : { kind: "unanswered" }
        }
      }
    },
    recall: (sealed) => schema.safeParse(sealed).data,
  }
}

/** Converting a schema costs more than sealing a state, and messages change where schemas do not. */
const requests = new WeakMap<z.ZodObject, InputRequest>()

function formRequest(schema: z.ZodObject, message: string): InputRequest {
  const known = requests.get(schema)
  if (known?.method === "elicitation/create") return { ...known, params: { ...known.params, message } }
  const request = inputRequired.elicit({ message, requestedSchema: schema })
  requests.set(schema, request)
  return request
}
