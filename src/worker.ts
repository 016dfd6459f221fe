import { Router, type RouterType } from "itty-router"
import { metadataPath, resourceMetadata } from "./auth/index.ts"
import { crossOrigin } from "./cors.ts"
import { errorName } from "./error-name.ts"
import { log } from "./observe.ts"
import { problem } from "./problem.ts"
import type { Resource } from "./resource.ts"
import { type Bindings, type Incoming, servicesOf } from "./services.ts"
import { baseUrl, checkHost, checkRing, type Settings, settingsOf } from "./settings.ts"
import { VERSION } from "./version.ts"

/** What one request goes by, beside itself. */
interface Given {
  readonly url: URL
  readonly settings: Settings
  readonly env: Bindings
  readonly context: ExecutionContext
}

/** What a Worker exports as its default. */
export interface ResourceWorker {
  /** Answers one request. Never rejects: faults are 500 `internal`, and a line in the log. */
  fetch(request: Incoming, env: Bindings, context: ExecutionContext): Promise<Response>
}

/**
 * Makes a Worker of protected resources, with their metadata and its health beside them. It reads its settings from its
 * environment, where `LEDGER` is bound to the class `Ledger` of this library; while one is missing or wrong every path
 * answers 503 `misconfigured`, and the log names it.
 *
 * @example
 * export { Ledger } from "waxseal"
 * export default createWorker([mcpResource(serverOf({ name: "my-server", version: "1.0.0" }, [myTool]))])
 */
export function createWorker(resources: readonly Resource[]): ResourceWorker {
  const router = Router<Incoming, [Given], Response | undefined>().all("*", refuseWrongPlace)
  // The router tries one after another, and these are what is called.
  for (const resource of resources) addResource(router, resource)
  for (const resource of resources) addDocuments(router, resource)
  addDocument(router, "/", ({ url, settings }) => welcome(baseUrl(settings, url), resources))
  addDocument(router, "/healthz", ({ env }) =>
    Response.json({ status: "ok", version: VERSION, deployment: env.WAXSEAL_DEPLOYMENT }),
  )

  async function answer(request: Incoming, given: Given): Promise<Response> {
    try {
      const response = await router.fetch(request, given)
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

type ResourceRouter = RouterType<Incoming, [Given], Response | undefined>

function addResource(router: ResourceRouter, { route, serve }: Resource): void {
  router.all(route, (request, { url, settings, env, context }) =>
    serve(request, { url, base: baseUrl(settings, url), services: servicesOf(settings, env), context }),
  )
}

function addDocuments(router: ResourceRouter, { path, scopes, documents = {} }: Resource): void {
  addDocument(router, metadataPath(path), ({ url, settings }) => {
    const issuer = settings.auth.mode === "jwt" ? settings.auth.issuer : undefined
    return resourceMetadata(`${baseUrl(settings, url)}${path}`, issuer, scopes)
  })
  for (const [at, document] of Object.entries(documents)) {
    addDocument(router, at, ({ url, settings }) => document(baseUrl(settings, url)))
  }
}

/** RFC 9110 9.3.2: HEAD is GET without the body, which the platform leaves out. */
function addDocument(router: ResourceRouter, path: string, answer: (given: Given) => Response): void {
  router.get(path, (_request, given) => answer(given))
  router.head(path, (_request, given) => answer(given))
}

/** Settings that are good in themselves may not do here (another host than localhost) or now (no key that seals). */
function refuseWrongPlace(_request: Request, { url, settings }: Given): Response | undefined {
  const sentence = checkHost(settings, url) ?? checkRing(settings, Date.now())
  return sentence === undefined ? undefined : misconfigured(sentence)
}

function misconfigured(sentence: string): Response {
  log({ event: "misconfigured", problem: sentence })
  return problem("misconfigured", "A setting is missing or wrong; the operator's log names it.")
}

function welcome(base: string, resources: readonly Resource[]): Response {
  const lines = resources.flatMap(({ title, path, documents = {} }) => [
    line(title, base, path),
    ...Object.keys(documents).map((at) => line("", base, at)),
    line("  metadata", base, metadataPath(path)),
  ])
  return new Response(`Waxseal ${VERSION}: sealed, single-use requestState for MCP.

${[...lines, line("Health", base, "/healthz")].join("\n")}
`)
}

function line(title: string, base: string, path: string): string {
  return `${title.padEnd(14)} ${base}${path}`
}
