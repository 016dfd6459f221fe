import { isLegacyRequest } from "@modelcontextprotocol/server"
import { metadataPath, refuse, type Verifier } from "../auth/index.ts"
import { readBody } from "../body.ts"
import type { RuntimeParts } from "../operation/index.ts"
import { PERIOD_SECONDS, type RateLimiter } from "../rate-limit.ts"
import type { ChangesClient } from "./changes/index.ts"
import { type Entrance, type Exchange, readCalled } from "./exchange.ts"
import { listen } from "./listen.ts"
import type { Era } from "./offer.ts"
import { rpcError } from "./rpc-error.ts"
import { type CreateServer, createSdk } from "./sdk.ts"
import {
  answerBodiless,
  answerMessage,
  beginSession,
  isBeginning,
  namedSession,
  type Sessions,
} from "./session/index.ts"

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
  /** How clients of revisions before 2026-07-28 are served: with sessions, without any, or not at all. */
  readonly legacy: Sessions | "stateless" | "reject"
  /** Absent: nothing is announced here. */
  readonly changes: ChangesClient | undefined
  readonly parts: RuntimeParts
  readonly observe: (event: McpEvent) => void
}

/** What happened at the door, for the operator. `person` is a keyed hash. */
export interface McpEvent {
  readonly event: "rate_limited"
  readonly name: "mcp"
  readonly person: string
}

/** Answers one request at the endpoint. */
export type McpEndpoint = (request: Request, surroundings: Surroundings) => Promise<Response>

/**
 * Makes the endpoint of one kind of server: method, identity, scope and body first, then the official SDK, or the
 * session that a client of an earlier revision names. Origins are the Worker's business. Make it once; every request
 * that no session answers gets a server of its own from `createServer`.
 */
export function createMcpEndpoint(createServer: CreateServer): McpEndpoint {
  const sdk = { stateless: createSdk(createServer, "stateless"), reject: createSdk(createServer, "reject") }

  return async (request, surroundings) => {
    const { legacy, changes } = surroundings
    const sessions = typeof legacy === "string" ? undefined : legacy
    const openSession = sessions && namedSession(request.headers, sessions)
    if (request.method !== "POST" && !openSession) return rpcError(405, -32_000, "Send requests by POST.", ALLOW_POST)

    const entrance = await enter(request, surroundings)
    if (entrance instanceof Response) return entrance
    if (openSession && request.method !== "POST")
      return answerBodiless(request, entrance, await openSession(entrance), changes)

    const exchange = await readExchange(request, entrance)
    if (exchange instanceof Response) return exchange
    if (exchange.called.method === "subscriptions/listen" && !(await isLegacyRequest(request, exchange.body)))
      return listen(createServer, request, exchange, changes)
    if (typeof legacy === "string") return sdk[legacy](request, exchange)
    const begins = isBeginning(exchange)
    // The SDK tells the eras apart again, so it is asked only where a session may be concerned.
    const isForSession = (begins || openSession) && (await isLegacyRequest(request, exchange.body))
    if (isForSession && openSession && !begins)
      return answerMessage(request, exchange, await openSession(entrance), changes)
    const answer = await sdk.stateless(request, exchange)
    return isForSession ? beginSession(answer, exchange, legacy) : answer
  }
}

const ALLOW_POST = { Allow: "POST" }

/** Lets in whom the access token admits, as often as the limit allows. */
async function enter(request: Request, surroundings: Surroundings): Promise<Entrance | Response> {
  const { base, verifier, rateLimiter, parts, observe } = surroundings
  const audience = `${base}${MCP_PATH}`
  const metadata = `${base}${metadataPath(MCP_PATH)}`
  const verified = await verifier(request.headers.get("authorization"), audience)
  if (!verified.ok) return refuse(verified, metadata)
  const { identity, expiresAt } = verified
  if (!identity.scopes.has("mcp")) return refuse({ problem: "insufficient_scope", scope: "mcp" }, metadata)
  if (!(await rateLimiter(identity.principal))) {
    const person = parts.pseudonyms("person", identity.tenant, identity.principal)
    observe({ event: "rate_limited", name: "mcp", person })
    return tooMany()
  }
  return { identity, audience, metadata, expiresAt, hearing: hearing(surroundings), parts }
}

/** Earlier revisions have a stream for it in a session alone. */
function hearing({ changes, legacy }: Surroundings): ReadonlySet<Era> {
  if (!changes) return NOBODY
  return typeof legacy === "string" ? MODERN : EVERYBODY
}

const NOBODY = new Set<Era>()
const MODERN = new Set<Era>(["modern"])
const EVERYBODY = new Set<Era>(["modern", "legacy"])

async function readExchange(request: Request, entrance: Entrance): Promise<Exchange | Response> {
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
      return { ...entrance, body: body.value, called }
    }
  }
}

function tooMany(): Response {
  const headers = { "Retry-After": String(PERIOD_SECONDS) }
  return rpcError(429, -32_000, `Too many requests; try again in ${PERIOD_SECONDS} seconds.`, headers)
}
