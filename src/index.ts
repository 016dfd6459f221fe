import { Router } from "itty-router"
import { MCP_SCOPES, metadataPath, resourceMetadata } from "./auth/index.ts"
import { refuseForeignOrigin } from "./cors.ts"
import { MCP_PATH, serveMcp } from "./mcp/index.ts"
import { errorName, log } from "./observe.ts"
import { problem } from "./problem.ts"
import { type Incoming, servicesOf } from "./services.ts"
import { baseUrl, checkHost, checkRing, type Settings, settingsOf } from "./settings.ts"
import { VERSION } from "./version.ts"

export { Ledger } from "./ledger/index.ts"
export { Registry } from "./mcp/index.ts"

type RouteArguments = [settings: Settings, env: Cloudflare.Env, context: ExecutionContext]

const router = Router<Incoming, RouteArguments, Response | undefined>()
  .all(MCP_PATH, (request, { allowedOrigins }) => refuseForeignOrigin(request, allowedOrigins))
  .all("*", refuseWrongPlace)
  .get("/", welcome)
  .get("/healthz", () => Response.json({ status: "ok", version: VERSION }))
  .get(metadataPath(MCP_PATH), (request, settings) => {
    const issuer = settings.auth.mode === "jwt" ? settings.auth.issuer : undefined
    return resourceMetadata(`${base(request, settings)}${MCP_PATH}`, issuer, MCP_SCOPES)
  })
  .all(MCP_PATH, (request, settings, env, context) => {
    const { verifier, parts } = servicesOf(settings, env)
    return serveMcp(request, {
      base: base(request, settings),
      verifier,
      allowedOrigins: settings.allowedOrigins,
      parts: parts(request, context),
    })
  })

export default {
  async fetch(request, env, context): Promise<Response> {
    const result = settingsOf(env)
    if (!result.ok) return misconfigured(`${result.setting}: ${result.problem}`)
    if (!URL.canParse(request.url)) return problem("bad_request", "The Host header is no host; send the one you call.")
    try {
      const response = await router.fetch(request, result.settings, env, context)
      return response ?? problem("not_found", "There is nothing at this path; / names the endpoints.")
    } catch (error) {
      log({ event: "fault", name: "worker", error: errorName(error) })
      return problem("internal", "Something went wrong here; try again.")
    }
  },
} satisfies ExportedHandler<Cloudflare.Env>

/** Settings that are good in themselves may not do here (another host than localhost) or now (no key that seals). */
function refuseWrongPlace(request: Request, settings: Settings): Response | undefined {
  const sentence = checkHost(settings, new URL(request.url)) ?? checkRing(settings, Date.now())
  return sentence === undefined ? undefined : misconfigured(sentence)
}

function base(request: Request, settings: Settings): string {
  return baseUrl(settings, new URL(request.url))
}

function misconfigured(sentence: string): Response {
  log({ event: "misconfigured", problem: sentence })
  return problem("misconfigured", "A setting is missing or wrong; the operator's log names it.")
}

function welcome(request: Request, settings: Settings): Response {
  const origin = base(request, settings)
  return new Response(`Waxseal ${VERSION}: sealed, single-use requestState for MCP.

MCP endpoint   ${origin}${MCP_PATH}
Metadata       ${origin}${metadataPath(MCP_PATH)}
Health         ${origin}/healthz
`)
}
