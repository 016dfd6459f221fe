import { SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/server"
import type { ChangesClient } from "../changes/index.ts"
import type { Entrance, Exchange } from "../exchange.ts"
import { rpcError } from "../rpc-error.ts"
import { type OpenSession, type Owner, type Sessions, SessionUnreachable } from "./sessions.ts"
import { changeSubscription, isSubscription, openStream } from "./stream.ts"

const SESSION_ID = "mcp-session-id"

/** Headers that the SDK's transport goes by. */
const PASSED_HEADERS = ["accept", "content-type", "mcp-protocol-version"]

/** Notifications that a session has no use for; they are taken and wake nobody. A person's time is not the client's to extend. */
const UNHEARD: readonly (string | undefined)[] = ["notifications/initialized", "notifications/progress"]

/** Opens the session that a request names, for whoever turns out to have sent it. */
type OpenNamed = (entrance: Entrance) => Promise<OpenSession | undefined>

/** The session that a request's headers name; revisions that know no sessions have the header ignored. */
export function namedSession(headers: Headers, sessions: Sessions): OpenNamed | undefined {
  const id = headers.get(SESSION_ID)
  const version = headers.get("mcp-protocol-version")
  if (id === null || (version !== null && !SUPPORTED_PROTOCOL_VERSIONS.includes(version))) return undefined
  return (entrance) => sessions.open(ownerOf(entrance), id)
}

/** Whether a request asks for a session of its own; then it belongs to none. */
export function isBeginning({ called }: Exchange): boolean {
  return called.method === "initialize"
}

/** Gives the SDK's answer to `initialize` the id of a session. */
export async function beginSession(answer: Response, exchange: Exchange, sessions: Sessions): Promise<Response> {
  if (answer.status !== 200) return answer
  return reaching(async () => {
    const id = await sessions.begin(ownerOf(exchange), exchange.body)
    const named = new Response(answer.body, answer)
    if (id !== undefined) named.headers.set(SESSION_ID, id)
    return named
  })
}

/** Answers a message to a session. */
export async function answerMessage(
  { headers }: Request,
  exchange: Exchange,
  session: OpenSession | undefined,
  changes: ChangesClient | undefined,
): Promise<Response> {
  if (!session) return noSession()
  const { identity, audience, metadata, expiresAt, hearing, body, called, parts } = exchange
  if (UNHEARD.includes(called.method)) return new Response(null, { status: 202 })
  if (changes && isSubscription(exchange))
    return reaching(async () => (await changeSubscription(exchange, session, changes)) ?? noSession())
  const passed = [...headers].filter(([name]) => PASSED_HEADERS.includes(name))
  const entrance = { identity, audience, metadata, expiresAt, hearing }
  const request = { ...entrance, headers: Object.fromEntries(passed), body, home: parts.home() }
  return reaching(async () => (await session.serve(request)) ?? noSession())
}

/** Answers a request without a message: the end of a session, or its stream. */
export async function answerBodiless(
  request: Request,
  entrance: Entrance,
  session: OpenSession | undefined,
  changes: ChangesClient | undefined,
): Promise<Response> {
  if (!session) return noSession()
  switch (request.method) {
    case "DELETE":
      return reaching(async () => ((await session.end()) ? new Response(null, { status: 204 }) : noSession()))
    case "GET":
      return reaching(async () => (await openStream(request, entrance, session, changes)) ?? noSession())
    default:
      return rpcError(405, -32_000, "Send requests by POST, or end the session by DELETE.", { Allow: "POST, DELETE" })
  }
}

/** The one answer to an id that is foreign, forged, expired or ended (2025-11-25 basic/transports, Session Management). */
function noSession(): Response {
  return rpcError(404, -32_001, "There is no such session; send initialize to begin one.")
}

async function reaching(answer: () => Promise<Response>): Promise<Response> {
  try {
    return await answer()
  } catch (error) {
    if (!(error instanceof SessionUnreachable)) throw error
    return rpcError(503, -32_000, error.message, { "Retry-After": "1" })
  }
}

function ownerOf({ identity: { tenant, principal }, audience }: Entrance): Owner {
  return { tenant, principal, audience }
}
