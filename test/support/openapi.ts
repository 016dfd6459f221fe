import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js"
import { z } from "zod"

const Schema = z.record(z.string(), z.unknown())

const Operation = z.looseObject({
  operationId: z.string(),
  security: z.array(z.record(z.string(), z.array(z.string()))),
  parameters: z.array(z.looseObject({ name: z.string(), in: z.enum(["path", "query"]), schema: Schema })),
  requestBody: z
    .looseObject({ content: z.record(z.string(), z.looseObject({ schema: Schema, example: z.unknown() })) })
    .optional(),
  responses: z.record(
    z.string(),
    z.looseObject({
      headers: Schema.optional(),
      content: z.record(z.string(), z.looseObject({ schema: Schema, example: z.unknown().optional() })),
    }),
  ),
})

const Document = z.looseObject({
  openapi: z.string(),
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.looseObject({ schemas: z.record(z.string(), Schema) }),
})

export type OpenApiDocument = z.infer<typeof Document>
export type JsonSchema = z.infer<typeof Schema>

export interface OperationAt {
  readonly method: string
  readonly path: string
  readonly operation: z.infer<typeof Operation>
}

export async function fetchDocument(url: string): Promise<OpenApiDocument> {
  return Document.parse(await (await fetch(`${url}/openapi.json`)).json())
}

export function operationsOf({ paths }: OpenApiDocument): OperationAt[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
}

/** Finds what is wrong with a value at a schema of the document; undefined where nothing is. */
export type Judge = (schema: JsonSchema, value: unknown) => string | undefined

export function createJudge(document: OpenApiDocument): Judge {
  const ajv = new Ajv2020({ strict: false, validateSchema: false })
  ajv.addFormat("date-time", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  ajv.addSchema(document, "document")
  const compiled = new Map<string, ValidateFunction>()
  return (schema, value) => {
    // References in the document are to the document itself.
    const text = JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"document#/')
    const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text))
    compiled.set(text, validate)
    return validate(value) ? undefined : ajv.errorsText(validate.errors)
  }
}

interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

/** Headers that tell a client what to do next. */
const TELLING = ["Retry-After", "WWW-Authenticate", "Allow"]

/** Why the document does not describe this answer to this operation; undefined where it does. */
export function strayness(
  judge: Judge,
  { operation }: OperationAt,
  { status, headers, body }: Answered,
): string | undefined {
  const response = operation.responses[status]
  if (!response) return `no status ${status}`
  const { headers: described = {} } = response
  const untold = TELLING.find((name) => headers.has(name) && !Object.hasOwn(described, name))
  if (untold !== undefined) return `no header ${untold} with status ${status}`
  const content = response.content[headers.get("content-type") ?? ""]
  if (!content) return `no content type ${headers.get("content-type")} with status ${status}`
  const problem = judge(content.schema, body)
  return problem === undefined ? undefined : `status ${status}: ${problem}`
}
