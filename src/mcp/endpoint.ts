import { type AuthInfo, createMcpHandler, type McpServer } from "@modelcontextprotocol/server"
import { metadataPath, refuse, type Verifier } from "../auth/index.ts"
import { readBody } from "../body.ts"
import type { RuntimeParts } from "../operation/index.ts"
import { PERIOD_SECONDS, type RateLimiter } from "../rate-limit.ts"
import { type Exchange, readCalled } from "./exchange.ts"
import { type Exchanges, singleExchange } from "./offer.ts"

/** Where the endpoint lives. */
export const MCP_PATH = "/mcp"

/** Largest request body: 1 MiB. */
const BODY_LIMIT_BYTES = 1_048_576

/** What the endpoint needs to know of its surroundings to answer one request. */
export interface Surroundings {
  /** The origin that this deployment is known by. */
  readonly base: string
  readonly verifier: Verifier
  readonly rateLimiter: RateLimiter
  readonly parts: RuntimeParts
}

/** Makes a server for a single exchange, as every request of 2026-07-28 is, or for those of a session. */
export type CreateServer = (exchanges: Exchanges) => McpServer

/** Answers one request at the endpoint. */
export type McpEndpoint = (request: Request, surroundings: Surroundings) => Promise<Response>

/**
 * Makes the endpoint of one kind of server: method, identity, scope and body first, then the official SDK. Origins are
 * the Worker's business. Make it once; every request gets a server of its own from `createServer`.
 */
export function createMcpEndpoint(createServer: CreateServer): McpEndpoint {
  // The SDK hands its factory the request and nothing else of ours.
  const exchanges = new WeakMap<Request, Exchange>()
  const sdk = createMcpHandler(({ era, requestInfo }) => {
    const exchange = requestInfo && exchanges.get(requestInfo)
    if (!exchange) throw new Error("A request reached the MCP server without passing its door.")
    return createServer(singleExchange(exchange, era))
  })
  return async (request, surroundings) => {
    const entered = await enter(request, surroundings)
    if (entered instanceof Response) return entered
    exchanges.set(request, entered)
    return sdk.fetch(request, { parsedBody: entered.body, authInfo: authInfo(entered, surroundings) })
  }
}

/** What the SDK needs for its challenges. The access token itself goes no further than this door. */
function authInfo({ identity }: Exchange, { base }: Surroundings): AuthInfo {
  return {
    token: "",
    clientId: identity.principal,
    scopes: [...identity.scopes],
    resourceMetadataUrl: `${base}${metadataPath(MCP_PATH)}`,
  }
}

async function enter(request: Request, surroundings: Surroundings): Promise<Exchange | Response> {
  const { base, verifier, rateLimiter, parts } = surroundings
  const audience = `${base}${MCP_PATH}`
  const metadata = `${base}${metadataPath(MCP_PATH)}`

  if (request.method !== "POST") return rpcError(405, -32_000, "Send requests by POST.", { Allow: "POST" })

  const verified = await verifier(request.headers.get("authorization"), audience)
  if (!verified.ok) return refuse(verified, metadata)
  if (!verified.identity.scopes.has("mcp")) return refuse({ problem: "insufficient_scope", scope: "mcp" }, metadata)

  if (!(await rateLimiter(verified.identity.principal))) return tooMany()

  const body = await readBody(request, BODY_LIMIT_BYTES)
  switch (body.kind) {
    case "too_large":
      return rpcError(413, -32_600, "The body is larger than 1 MiB; send less.")
    case "too_slow":
      return rpcError(408, -32_600, "The body did not arrive within 10 seconds; send it faster.")
    case "too_deep":
      return rpcError(400, -32_600, "The body is nested deeper than 96 levels; send it flatter.")
    case "too_wide":
      return rpcError(400, -32_600, "The body has more than 20,000 members or 200,000 values; send less.")
    case "unreadable":
      return rpcError(400, -32_700, "The body is not JSON in UTF-8.")
    case "json": {
      if (Array.isArray(body.value)) return rpcError(400, -32_600, "Send one message a request; batches are not taken.")
      const called = readCalled(body.value)
      if (called.problem !== undefined) return rpcError(400, -32_602, called.problem, {}, called.id)
      return { identity: verified.identity, audience, body: body.value, called, parts }
    }
  }
}

function tooMany(): Response {
  const headers = { "Retry-After": String(PERIOD_SECONDS) }
  return rpcError(429, -32_000, `Too many requests; try again in ${PERIOD_SECONDS} seconds.`, headers)
}

function rpcError(
  status: number,
  code: number,
  message: string,
  headers: Record<string, string> = {},
  id: string | number | null = null,
): Response {
  return Response.json({ jsonrpc: "2.0", error: { code, message }, id }, { status, headers })
}
