import { type InputRequest, inputRequired, inputResponse } from "@modelcontextprotocol/server"
import { z } from "zod"
import type { Json } from "../brands.ts"

/** What came back for a question. Only `answered` is ever read as data. */
export type Reading<Answer> =
  | { readonly kind: "answered"; readonly answer: Answer; readonly sealed: Json }
  | { readonly kind: "declined" }
  | { readonly kind: "cancelled" }
  /** Missing, of another kind, or not what was asked for: the question is put again. */
  | { readonly kind: "unanswered" }

/** A question as it is sent, and the one way to read what comes back. */
export interface Question<Answer> {
  readonly request: InputRequest
  /** Reads this leg's response. `responses` is the client's word: nothing in it is trusted. */
  read(responses: Record<string, unknown> | undefined, key: string): Reading<Answer>
  /** Reads an answer that an earlier leg accepted and sealed; none where the schema has changed since. */
  recall(sealed: Json): Answer | undefined
}

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
          if (!content.success) return { kind: "unanswered" }
          return { kind: "answered", answer: content.data, sealed: z.json().parse(content.data) }
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
