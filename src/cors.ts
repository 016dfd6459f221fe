/*
 * Browsers: which origins may call, and what they may see. An origin that is not configured gets nothing at all, so a
 * page cannot reach a server on its visitor's own machine (DNS rebinding).
 */
import { problem } from "./problem.ts"

/** Headers of an answer that a page's script may read. */
const EXPOSED = "WWW-Authenticate, Retry-After, Mcp-Session-Id"
const PREFLIGHT_SECONDS = "600"

/**
 * Answers a request for browsers and others: without `Origin` as it comes, from an allowed origin with the headers that
 * CORS asks for (preflights need no token), from any other 403 before anything runs.
 *
 * The router's own helper is not used: it exposes headers in preflights alone and leaves out `Vary`.
 */
export async function crossOrigin(
  request: Request,
  allowedOrigins: readonly string[],
  answer: () => Promise<Response>,
): Promise<Response> {
  const origin = request.headers.get("Origin")
  if (origin === null) return answer()
  if (!allowedOrigins.includes(origin)) return problem("origin_not_allowed", "Pages of this origin may not call here.")
  const response = isPreflight(request) ? preflight(request) : await answer()
  return readableBy(origin, response)
}

function isPreflight(request: Request): boolean {
  return request.method === "OPTIONS" && request.headers.has("Access-Control-Request-Method")
}

function preflight(request: Request): Response {
  return new Response(null, {
    status: 204,
    headers: {
      "Access-Control-Allow-Methods": "GET, POST, DELETE",
      "Access-Control-Allow-Headers": request.headers.get("Access-Control-Request-Headers") ?? "",
      "Access-Control-Max-Age": PREFLIGHT_SECONDS,
    },
  })
}

function readableBy(origin: string, response: Response): Response {
  const readable = new Response(response.body, response)
  readable.headers.set("Access-Control-Allow-Origin", origin)
  readable.headers.set("Access-Control-Expose-Headers", EXPOSED)
  readable.headers.append("Vary", "Origin, Access-Control-Request-Headers")
  return readable
}
