import fc from "fast-check"
import { z } from "zod"
import type { JsonSchema, OpenApiDocument } from "./openapi.ts"

/** The keywords that the document uses for what is sent. */
const Keywords = z.looseObject({
  $ref: z.string().optional(),
  const: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  anyOf: z.array(z.record(z.string(), z.unknown())).optional(),
  oneOf: z.array(z.record(z.string(), z.unknown())).optional(),
  type: z.string().optional(),
  pattern: z.string().optional(),
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  items: z.record(z.string(), z.unknown()).optional(),
  minItems: z.number().optional(),
  maxItems: z.number().optional(),
  properties: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
  required: z.array(z.string()).optional(),
})

/** Long lists and texts add time and find nothing. */
const MOST_ITEMS = 4
const LONGEST_TEXT = 40

/** Values that fit a schema, as far as the schema tells. */
export function fitting(document: OpenApiDocument, schema: JsonSchema): fc.Arbitrary<unknown> {
  const keywords = Keywords.parse(schema)
  const { $ref, enum: values, oneOf, anyOf = keywords.properties ? undefined : oneOf, type } = keywords
  if ($ref !== undefined) return fitting(document, component(document, $ref))
  if (keywords.const !== undefined) return fc.constant(keywords.const)
  if (values) return fc.constantFrom(...values)
  if (anyOf) return fc.oneof(...anyOf.map((one) => fitting(document, one)))
  switch (type) {
    case "boolean":
      return fc.boolean()
    case "integer":
      return fc.integer({ min: keywords.minimum ?? 0, max: keywords.maximum ?? 2 ** 31 - 1 })
    case "string":
      return text(keywords)
    case "array": {
      const { items = {}, minItems = 0, maxItems = MOST_ITEMS } = keywords
      return fc.array(fitting(document, items), { minLength: minItems, maxLength: Math.min(maxItems, MOST_ITEMS) })
    }
    case "object":
      return keywords.properties ? record(document, keywords) : fc.dictionary(fc.string(), fc.jsonValue())
    default:
      return fc.jsonValue()
  }
}

function component(document: OpenApiDocument, reference: string): JsonSchema {
  const schema = document.components.schemas[reference.replace("#/components/schemas/", "")]
  if (!schema) throw new Error(`The document refers to ${reference}, which it does not have.`)
  return schema
}

function text({ pattern, minLength = 0, maxLength = LONGEST_TEXT }: z.infer<typeof Keywords>): fc.Arbitrary<string> {
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern), { size: "small" })
  return fc.string({ minLength, maxLength: Math.min(maxLength, LONGEST_TEXT), unit: "grapheme" })
}

function record(document: OpenApiDocument, { properties = {}, required = [] }: z.infer<typeof Keywords>) {
  const members = Object.entries(properties).map(([name, schema]) => [name, fitting(document, schema)])
  return fc.record<Record<string, unknown>>(Object.fromEntries(members), { requiredKeys: required })
}
