/** Stable codes of errors outside MCP's own. */
export type ProblemCode = "misconfigured" | "bad_request" | "origin_not_allowed" | "not_found" | "internal"

const STATUS: Record<ProblemCode, readonly [status: number, title: string]> = {
  misconfigured: [503, "The service is not configured"],
  bad_request: [400, "Bad request"],
  origin_not_allowed: [403, "Origin not allowed"],
  not_found: [404, "Not found"],
  internal: [500, "Internal error"],
}

/** An RFC 9457 problem document. `detail` says what is wrong and what to do, and repeats nothing that must stay secret. */
export function problem(code: ProblemCode, detail: string): Response {
  const [status, title] = STATUS[code]
  return Response.json(
    { type: "about:blank", title, status, detail, code },
    { status, headers: { "Content-Type": "application/problem+json" } },
  )
}
