import { Router } from "itty-router"
import { MCP_SCOPES, metadataPath, resourceMetadata } from "./auth/index.ts"
import { crossOrigin } from "./cors.ts"
import { errorName } from "./error-name.ts"
import { type CreateServer, createMcpEndpoint, MCP_PATH } from "./mcp/endpoint.ts"
import { log } from "./observe.ts"
import { problem } from "./problem.ts"
import { type Bindings, type Incoming, servicesOf } from "./services.ts"
import { baseUrl, checkHost, checkRing, type Settings, settingsOf } from "./settings.ts"
import { VERSION } from "./version.ts"

/** Of one request, beside itself: its URL, what is configured, and what the platform gives. */
interface Place {
  readonly url: URL
  readonly settings: Settings
  readonly env: Bindings
  readonly context: ExecutionContext
}

/** What a Worker exports as its default. */
export interface McpWorker {
  fetch(request: Incoming, env: Bindings, context: ExecutionContext): Promise<Response>
}

/**
 * Makes a Worker whose MCP endpoint is at `/mcp`, with its metadata and its health beside it. It reads its settings from
 * its environment, where `LEDGER` is bound to the class `Ledger` of this library; wrong ones answer 503 `misconfigured`.
 *
 * @example
 * export { Ledger } from "waxseal"
 * export default createWorker(serverOf({ name: "my-server", version: "1.0.0" }, [myTool]))
 */
export function createWorker(createServer: CreateServer): McpWorker {
  const serveMcp = createMcpEndpoint(createServer)
  const router = Router<Incoming, [Place], Response | undefined>()
    .all("*", refuseWrongPlace)
    .get("/", welcome)
    .get("/healthz", () => Response.json({ status: "ok", version: VERSION }))
    .get(metadataPath(MCP_PATH), (_request, { url, settings }) => {
      const issuer = settings.auth.mode === "jwt" ? settings.auth.issuer : undefined
      return resourceMetadata(`${baseUrl(settings, url)}${MCP_PATH}`, issuer, MCP_SCOPES)
    })
    .all(MCP_PATH, (request, { url, settings, env, context }) => {
      const { verifier, parts } = servicesOf(settings, env)
      return serveMcp(request, { base: baseUrl(settings, url), verifier, parts: parts(request, context) })
    })

  async function answer(request: Incoming, place: Place): Promise<Response> {
    try {
      // RFC 9110 9.3.2: HEAD is GET without the body, which the platform leaves out.
      const asked = request.method === "HEAD" ? new Request(request, { method: "GET" }) : request
      const response = await router.fetch(asked, place)
      return response ?? problem("not_found", "There is nothing at this path; / names the endpoints.")
    } catch (error) {
      log({ event: "fault", name: "worker", error: errorName(error) })
      return problem("internal", "Something went wrong here; try again.")
    }
  }

  return {
    async fetch(request, env, context) {
      const result = settingsOf(env)
      if (!result.ok) return misconfigured(`${result.setting}: ${result.problem}`)
      const url = URL.parse(request.url)
      if (url === null) return problem("bad_request", "The Host header is no host; send the one you call.")
      const { settings } = result
      return crossOrigin(request, settings.allowedOrigins, () => answer(request, { url, settings, env, context }))
    },
  }
}

/** Settings that are good in themselves may not do here (another host than localhost) or now (no key that seals). */
function refuseWrongPlace(_request: Request, { url, settings }: Place): Response | undefined {
  const sentence = checkHost(settings, url) ?? checkRing(settings, Date.now())
  return sentence === undefined ? undefined : misconfigured(sentence)
}

function misconfigured(sentence: string): Response {
  log({ event: "misconfigured", problem: sentence })
  return problem("misconfigured", "A setting is missing or wrong; the operator's log names it.")
}

function welcome(_request: Request, { url, settings }: Place): Response {
  const origin = baseUrl(settings, url)
  return new Response(`Waxseal ${VERSION}: sealed, single-use requestState for MCP.

MCP endpoint   ${origin}${MCP_PATH}
Metadata       ${origin}${metadataPath(MCP_PATH)}
Health         ${origin}/healthz
`)
}
