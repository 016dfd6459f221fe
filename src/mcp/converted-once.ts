import type { StandardSchemaWithJSON } from "@modelcontextprotocol/server"

type JsonSchema = Record<string, unknown>
type Convert = StandardSchemaWithJSON["~standard"]["jsonSchema"]["input"]

/**
 * The same schema, whose JSON Schema is made once: the SDK makes it anew for the server of every request, and that costs
 * more than sealing a state.
 */
export function convertedOnce<Input, Output>(
  schema: StandardSchemaWithJSON<Input, Output>,
): StandardSchemaWithJSON<Input, Output> {
  const standard = schema["~standard"]
  const { input, output } = standard.jsonSchema
  return { "~standard": { ...standard, jsonSchema: { input: once(input), output: once(output) } } }
}

/** Once a target: the options are the SDK's, and always the same. */
function once(convert: Convert): Convert {
  const made = new Map<string, JsonSchema>()
  return (options) => {
    const schema = made.get(options.target) ?? convert(options)
    made.set(options.target, schema)
    return schema
  }
}
