// Whether clients that call PUBLIC_URL come to the Worker that is deployed, and nobody else's clients do.
import { CommandError } from "../../src/cli/command.ts"
import type { Config, Route } from "./config.ts"
import { type Target, topOf } from "./target.ts"

type Reach = Pick<Config, "name" | "routes" | "inheritsRoutes" | "workersDev">

/** A path of each kind that is served: calls, the API, health, and what tells clients where to get a token. */
const PATHS = ["/mcp", "/v1/seal", "/healthz", "/.well-known/oauth-protected-resource/mcp"]

/** @throws a CommandError that says what to write */
export function checkReach(config: Reach, origin: string, target: Target): void {
  const { name, routes, inheritsRoutes, workersDev } = config
  const place = topOf(target)
  if (inheritsRoutes && routes.length > 0) {
    const taken = routes.map(({ pattern }) => pattern).join(", ")
    throw new CommandError(
      `${place}: this environment inherits the routes of the file's top, and would take ${taken} from that Worker; write routes = [] or routes of its own there.`,
    )
  }
  const { hostname } = new URL(origin)
  if (workersDev && isOnWorkersDev(hostname, name)) return
  const path = PATHS.find((needed) => !routes.some((route) => leadsTo(needed, route, hostname)))
  if (path === undefined) return
  throw new CommandError(
    `${place}: no client of ${hostname}, which PUBLIC_URL names, comes to ${path} of this Worker; ${instead(hostname, name)}`,
  )
}

function leadsTo(path: string, { pattern, isDomain }: Route, hostname: string): boolean {
  return isDomain ? pattern === hostname : matcher(pattern).test(`${hostname}${path}`)
}

/** In a route `*` stands for anything, slashes too, and no scheme for both. */
function matcher(pattern: string): RegExp {
  const literal = pattern.replace(/^https:\/\//, "").replace(/[.+?^${}()|[\]\\]/g, "\\$&")
  return new RegExp(`^${literal.replaceAll("*", ".*")}$`)
}

const WORKERS_DEV = ".workers.dev"

/** The account's own name, which is not known here, stands between the Worker's and the domain. */
function isOnWorkersDev(hostname: string, name: string): boolean {
  return hostname.startsWith(`${name}.`) && hostname.endsWith(WORKERS_DEV) && hostname.split(".").length === 4
}

function instead(hostname: string, name: string): string {
  if (hostname.endsWith(WORKERS_DEV)) {
    return `write workers_dev = true there, and PUBLIC_URL = "https://${name}.SUBDOMAIN.workers.dev".`
  }
  return `write routes = [{ pattern = "${hostname}", custom_domain = true }] there.`
}
