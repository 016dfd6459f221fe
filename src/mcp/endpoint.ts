import { createMcpHandler } from "@modelcontextprotocol/server"
import { metadataPath, refuse, type Verifier } from "../auth/index.ts"
import type { RuntimeParts } from "../operation/index.ts"
import { readBody } from "./body.ts"
import type { Exchange } from "./exchange.ts"
import { createServer } from "./server.ts"

/** Where the endpoint lives. */
export const MCP_PATH = "/mcp"

/** What the endpoint needs to know of its surroundings to answer one request. */
export interface Surroundings {
  /** The origin that this deployment is known by. */
  readonly base: string
  readonly verifier: Verifier
  readonly allowedOrigins: readonly string[]
  readonly parts: RuntimeParts
}

/** Requests on their way through the SDK, which hands its factory the request and nothing else of ours. */
const exchanges = new WeakMap<Request, Exchange>()

const handler = createMcpHandler(({ era, requestInfo }) => {
  const exchange = requestInfo && exchanges.get(requestInfo)
  if (!exchange) throw new Error("A request reached the MCP server without passing its door.")
  return createServer(exchange, era)
})

/** Answers one request at `/mcp`: origin, identity, scope and body first, then the official SDK. */
export async function serveMcp(request: Request, surroundings: Surroundings): Promise<Response> {
  const { base, verifier, allowedOrigins, parts } = surroundings
  const audience = `${base}${MCP_PATH}`
  const metadata = `${base}${metadataPath(MCP_PATH)}`

  const origin = request.headers.get("origin")
  if (origin !== null && !allowedOrigins.includes(origin)) return rpcError(403, -32_000, "This origin is not allowed.")

  if (request.method !== "POST") return rpcError(405, -32_000, "Send requests by POST.", { Allow: "POST" })

  const verified = await verifier(request.headers.get("authorization"), audience)
  if (!verified.ok) return refuse(verified, metadata)
  if (!verified.identity.scopes.has("mcp")) return refuse({ problem: "insufficient_scope", scope: "mcp" }, metadata)

  const body = await readBody(request)
  switch (body.kind) {
    case "too_large":
      return rpcError(413, -32_600, "The body is larger than 1 MiB; send less.")
    case "unreadable":
      return rpcError(400, -32_700, "The body is not JSON in UTF-8.")
    case "json":
      exchanges.set(request, { identity: verified.identity, audience, body: body.value, parts })
      return handler.fetch(request, { parsedBody: body.value })
  }
}

function rpcError(status: number, code: number, message: string, headers: Record<string, string> = {}): Response {
  return Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, { status, headers })
}
