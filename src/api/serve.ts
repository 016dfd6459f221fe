import { challenge, metadataPath, type Refusal, type Verifier } from "../auth/index.ts"
import { readBody } from "../body.ts"
import { type Answer, toResponse } from "./answer.ts"
import type { ApiParts, Call } from "./call.ts"
import type { Endpoint } from "./endpoint.ts"
import { ENDPOINTS } from "./endpoints.ts"
import { misfitAt, problem, tooManyCalls } from "./problems.ts"
import { createRoutes, type Routed } from "./routes.ts"

/** Where the API lives. */
export const API_PATH = "/v1"

const BODY_LIMIT_BYTES = 2_097_152

const route = createRoutes(API_PATH, ENDPOINTS)

/** What the API needs to know of its surroundings to answer one request. */
export interface Surroundings {
  /** The request's own. */
  readonly url: URL
  /** The origin that this deployment is known by. */
  readonly base: string
  readonly verifier: Verifier
  readonly parts: ApiParts
}

/** Answers one request: route, identity, scope, rate and body first, then the endpoint. */
export async function serveApi(request: Request, surroundings: Surroundings): Promise<Response> {
  return toResponse(await answer(request, surroundings))
}

async function answer(request: Request, surroundings: Surroundings): Promise<Answer> {
  const { url } = surroundings
  // RFC 9110 9.3.2: HEAD is GET without the body, which the platform leaves out.
  const routed = route(request.method === "HEAD" ? "GET" : request.method, url)
  if (routed.kind === "unknown") return problem("not_found", "There is nothing at this path; see /openapi.json.")
  if (routed.kind === "other_methods") {
    const allowed = routed.methods.join(", ")
    return { ...problem("method_not_allowed", `Send ${allowed} to this path.`), headers: { Allow: allowed } }
  }
  const entered = await enter(request, surroundings, routed.endpoint)
  return "status" in entered ? entered : run(request, entered, routed)
}

/** Proves who calls, and that they may. */
async function enter(
  request: Request,
  { base, verifier, parts }: Surroundings,
  { name, scope }: Endpoint,
): Promise<Call | Answer> {
  const verified = await verifier(request.headers.get("authorization"), `${base}${API_PATH}`)
  if (!verified.ok) return refused(verified, base)
  const { identity } = verified
  if (scope !== undefined && !identity.scopes.has(scope)) return refused({ problem: "insufficient_scope", scope }, base)
  if (await parts.rateLimiter(identity.principal)) return { identity, parts }
  parts.observe({ event: "rate_limited", name })
  return tooManyCalls()
}

async function run(request: Request, call: Call, { endpoint, parameters }: Extract<Routed, { kind: "endpoint" }>) {
  if (endpoint.method === "GET") return endpoint.run(call, undefined, parameters)
  if (!isJson(request)) return problem("unsupported_media_type", "Send JSON with Content-Type: application/json.")
  const body = await readBody(request, BODY_LIMIT_BYTES)
  switch (body.kind) {
    case "too_large":
      return problem("body_too_large", "The body is larger than 2 MiB; send less.")
    case "too_slow":
      return problem("body_too_slow", "The body did not arrive within 10 seconds; send it faster.")
    case "too_deep":
      return misfitAt("", "is nested deeper than 96 levels")
    case "too_wide":
      return misfitAt("", "has more than 20,000 members or 200,000 values")
    case "unreadable":
      return problem("invalid_json", "The body is not JSON in UTF-8.")
    case "json":
      return endpoint.run(call, body.value, parameters)
  }
}

function refused(refusal: Refusal, base: string): Answer {
  const { code, detail, headers } = challenge(refusal, `${base}${metadataPath(API_PATH)}`)
  return { ...problem(code, detail), headers }
}

/** Names of media types ignore case (RFC 9110 8.3.1); parameters change nothing, for JSON is UTF-8. */
function isJson(request: Request): boolean {
  const [type = ""] = (request.headers.get("content-type") ?? "").split(";")
  return type.trim().toLowerCase() === "application/json"
}
