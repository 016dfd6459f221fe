import { z } from "zod"
import type { Json } from "../brands.ts"
import { problemDocument } from "../problem.ts"
import { VERSION } from "../version.ts"
import type { Endpoint } from "./endpoint.ts"
import { ENDPOINTS } from "./endpoints.ts"
import { PROBLEMS, type ProblemCode } from "./problems.ts"
import { documented, reference } from "./schemas/common.ts"
import { API_PATH } from "./serve.ts"

/** What any endpoint may answer, whatever it does. */
const EVERYWHERE: readonly ProblemCode[] = [
  "bad_request",
  "origin_not_allowed",
  "unauthorized",
  "invalid_token",
  "rate_limited",
  "internal",
  "misconfigured",
  "keys_unavailable",
]

const WITH_BODY: readonly ProblemCode[] = [
  "invalid_json",
  "invalid_body",
  "unsupported_media_type",
  "body_too_large",
  "body_too_slow",
]

/** Headers that a problem comes with. */
const HEADERS: Readonly<Partial<Record<ProblemCode, string>>> = {
  unauthorized: "WWW-Authenticate",
  invalid_token: "WWW-Authenticate",
  insufficient_scope: "WWW-Authenticate",
  operation_in_progress: "Retry-After",
  rate_limited: "Retry-After",
  keys_unavailable: "Retry-After",
  overloaded: "Retry-After",
}

let described: ReturnType<typeof describe> | undefined

/** The OpenAPI 3.1 document of `/v1`, made of the schemas that validate. For anybody: it holds no secret. */
export function openApi(base: string): Response {
  // On demand: no other request needs it.
  described ??= describe()
  return Response.json(
    { openapi: "3.1.1", ...described, servers: [{ url: base }] },
    { headers: { "Access-Control-Allow-Origin": "*", "Cache-Control": "public, max-age=300" } },
  )
}

function describe() {
  const problems = Object.keys(PROBLEMS) as ProblemCode[]
  const schemas = problems.map(problemSchema)
  z.union(schemas).register(documented, { id: "Problem" })
  return {
    info: {
      title: "Waxseal",
      version: VERSION,
      description:
        "Sealed, single-use requestState for MCP, and operations that run once. Errors are problem documents (RFC 9457) with a stable `code`. Another method on a path is answered with 405 `method_not_allowed` and `Allow`, another path with 404 `not_found`.",
    },
    security: [],
    paths: paths(),
    components: {
      schemas: components(),
      securitySchemes: {
        accessToken: {
          type: "http",
          scheme: "bearer",
          bearerFormat: "JWT",
          description: `An access token whose audience is this API (the server's URL and ${API_PATH}). The roles of a requirement are scopes.`,
        },
      },
    },
  }
}

/** Of the members that some problems have beside those of all. */
const EXAMPLES: Readonly<Record<string, Json>> = {
  errors: [{ path: "/principal", message: "expected string, received undefined" }],
  reason: "request",
  leaseEndsAt: "2026-11-30T12:00:30.000Z",
  redeemedAt: "2026-11-30T12:00:00.000Z",
  retryAfterSeconds: 2,
}

function problemSchema(code: ProblemCode) {
  const kind = PROBLEMS[code]
  const members = "members" in kind ? kind.members : {}
  const shown = Object.entries(EXAMPLES).filter(([name]) => name in members)
  const example = problemDocument(kind, code, "One sentence: what is wrong, and what to do.", Object.fromEntries(shown))
  return z
    .strictObject({
      type: z.literal("about:blank"),
      title: z.literal(kind.title),
      status: z.literal(kind.status),
      detail: z.string(),
      code: z.literal(code),
      ...members,
    })
    .register(documented, { id: problemName(code), examples: [example] })
}

function problemName(code: ProblemCode): string {
  return `problem.${code}`
}

/** Every schema that was registered under a name, referring to others by theirs. */
function components(): Record<string, unknown> {
  const { schemas } = z.toJSONSchema(documented, {
    io: "input",
    metadata: documented,
    unrepresentable: "any",
    uri: (id) => reference(id).$ref,
  })
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $id: _id, $schema: _dialect, id: _name, ...schema }]) => [name, schema]),
  )
}

function paths(): Record<string, Record<string, unknown>> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const endpoint of ENDPOINTS) {
    const path = `${API_PATH}${endpoint.path}`
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: operation(endpoint) }
  }
  return paths
}

function operation(endpoint: Endpoint): Record<string, unknown> {
  const { name, summary, scope, method, body } = endpoint
  return {
    operationId: name,
    summary,
    security: [{ accessToken: scope === undefined ? [] : [scope] }],
    parameters: parameters(endpoint),
    ...(method === "POST" && { requestBody: { required: true, content: content("application/json", body) } }),
    responses: responses(endpoint),
  }
}

function parameters({ parameters, path }: Endpoint): unknown[] {
  return Object.entries(parameters.shape).map(([name, schema]) => {
    const inPath = path.includes(`{${name}}`)
    return { name, in: inPath ? "path" : "query", required: inPath, schema: referenceTo(schema) }
  })
}

function responses({ answers, problems, scope, method, parameters }: Endpoint): Record<string, unknown> {
  const codes = [
    ...EVERYWHERE,
    ...(scope === undefined ? [] : (["insufficient_scope"] as const)),
    ...(method === "POST" ? WITH_BODY : []),
    ...(Object.keys(parameters.shape).length === 0 ? [] : (["invalid_parameter"] as const)),
    ...problems,
  ]
  const good = Object.entries(answers).map(([status, schema]) => [
    status,
    { description: "Done.", content: content("application/json", schema) },
  ])
  const bad = Object.entries(Object.groupBy(codes, (code) => PROBLEMS[code].status)).map(([status, codes = []]) => [
    status,
    {
      description: codes.map((code) => `\`${code}\``).join(", "),
      ...headers(codes),
      content: {
        "application/problem+json": {
          schema: { oneOf: codes.map((code) => reference(problemName(code))) },
        },
      },
    },
  ])
  return Object.fromEntries([...good, ...bad])
}

function headers(codes: readonly ProblemCode[]): { headers?: Record<string, unknown> } {
  const names = codes.flatMap((code) => HEADERS[code] ?? [])
  if (names.length === 0) return {}
  return { headers: Object.fromEntries(names.map((name) => [name, { schema: { type: "string" } }])) }
}

function content(mediaType: string, schema: z.ZodType) {
  const [example] = documented.get(schema)?.examples ?? []
  return { [mediaType]: { schema: referenceTo(schema), example } }
}

/** Parameters, bodies and answers are all components of their own. */
function referenceTo(schema: z.core.$ZodType): { readonly $ref: string } {
  const id = documented.get(schema instanceof z.ZodExactOptional ? schema.unwrap() : schema)?.id
  if (id === undefined) throw new Error("A schema of an endpoint has no name in the document; register it with an id.")
  return reference(id)
}
