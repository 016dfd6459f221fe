import { z } from "zod"

/** A request in the wire format of revision 2026-07-28. What is left out gets what a well-behaved client sends. */
export interface Call {
  /** Access token; without one there is no `Authorization`. */
  readonly token?: string
  /** Such as `tools/call`. */
  readonly method: string
  /** The tool's or prompt's name, or the URI for `resources/read`. */
  readonly name?: string
  readonly arguments?: Readonly<Record<string, unknown>>
  readonly inputResponses?: Readonly<Record<string, unknown>>
  readonly requestState?: string
  /** Default: one that was not used before in this process. */
  readonly id?: string | number
  /** Laid over the standard `_meta`; a member that is `undefined` leaves it out. */
  readonly meta?: Readonly<Record<string, unknown>>
  /** Laid over the standard headers; `undefined` leaves one out. Names in lower case. */
  readonly headers?: Readonly<Record<string, string | undefined>>
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  /** Parsed JSON, the last message of an event stream, or text where it is neither. */
  readonly body: unknown
}

const PROTOCOL_VERSION = "2026-07-28"

let lastId = 0

/**
 * Sends one request and reads one answer.
 *
 * @param url the MCP endpoint
 *
 * @example
 * const asked = resultOf(await call(url, { token, method: "tools/call", name: "list_created", arguments: {} }))
 */
export async function call(url: string, options: Call): Promise<Answer> {
  const { headers, body } = encode(options)
  const response = await fetch(url, { method: "POST", headers, body })
  return { status: response.status, headers: response.headers, body: read(response.headers, await response.text()) }
}

/** The headers and body of a request, for those who send by themselves. */
export function encode(options: Call): { readonly headers: Record<string, string>; readonly body: string } {
  const { token, method, name, id = ++lastId, inputResponses, requestState } = options
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": PROTOCOL_VERSION,
    "mcp-method": method,
    "mcp-name": name,
    authorization: token === undefined ? undefined : `Bearer ${token}`,
    ...options.headers,
  }
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": PROTOCOL_VERSION,
    "io.modelcontextprotocol/clientInfo": { name: "waxseal-test", version: "1.0.0" },
    "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
    ...options.meta,
  }
  const target = method === "resources/read" ? { uri: name } : { name, arguments: options.arguments }
  const params = { ...target, _meta, inputResponses, requestState }
  return { headers: present(headers), body: JSON.stringify({ jsonrpc: "2.0", id, method, params }) }
}

function present(headers: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

function read(headers: Headers, text: string): unknown {
  const type = headers.get("content-type") ?? ""
  if (type.startsWith("application/json")) return JSON.parse(text)
  if (!type.startsWith("text/event-stream")) return text
  const messages = text.split("\n").filter((line) => line.startsWith("data:"))
  return JSON.parse(messages.at(-1)?.slice("data:".length) ?? "null")
}

const Result = z.looseObject({
  resultType: z.enum(["complete", "input_required"]),
  inputRequests: z.record(z.string(), z.looseObject({ method: z.string() })).optional(),
  requestState: z.string().optional(),
  content: z.array(z.looseObject({ type: z.string() })).optional(),
  contents: z.array(z.looseObject({ uri: z.string() })).optional(),
  structuredContent: z.record(z.string(), z.unknown()).optional(),
  isError: z.boolean().optional(),
})

const ResultMessage = z.object({ jsonrpc: z.literal("2.0"), id: z.union([z.string(), z.number()]), result: Result })

const ErrorMessage = z.object({
  jsonrpc: z.literal("2.0"),
  error: z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() }),
})

/** The result of an answer. Throws, naming the status alone, when the answer is anything else. */
export function resultOf(answer: Answer): z.infer<typeof Result> {
  const message = ResultMessage.safeParse(answer.body)
  if (!message.success) throw new Error(`The answer (HTTP ${answer.status}) is not the result of an MCP request.`)
  return message.data.result
}

/** The JSON-RPC error of an answer. Throws, naming the status alone, when the answer is anything else. */
export function errorOf(answer: Answer): z.infer<typeof ErrorMessage>["error"] {
  const message = ErrorMessage.safeParse(answer.body)
  if (!message.success) throw new Error(`The answer (HTTP ${answer.status}) is not a JSON-RPC error.`)
  return message.data.error
}
