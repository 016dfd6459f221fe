import type { Json } from "./brands.ts"

/** What all problems of one code have in common. */
export interface ProblemKind {
  readonly status: number
  readonly title: string
}

/** Problems of any endpoint outside MCP's own, by their stable code. */
export const COMMON_PROBLEMS = {
  misconfigured: { status: 503, title: "The service is not configured" },
  bad_request: { status: 400, title: "Bad request" },
  origin_not_allowed: { status: 403, title: "Origin not allowed" },
  not_found: { status: 404, title: "Not found" },
  internal: { status: 500, title: "Internal error" },
} as const satisfies Record<string, ProblemKind>

export const PROBLEM_MEDIA_TYPE = "application/problem+json"

/** An RFC 9457 problem document. `detail` says what is wrong and what to do, and repeats nothing that must stay secret. */
export function problemDocument(
  { status, title }: ProblemKind,
  code: string,
  detail: string,
  members: Readonly<Record<string, Json>> = {},
) {
  return { type: "about:blank", title, status, detail, code, ...members }
}

/** A common problem as a whole answer. */
export function problem(code: keyof typeof COMMON_PROBLEMS, detail: string): Response {
  const kind = COMMON_PROBLEMS[code]
  const headers = { "Content-Type": PROBLEM_MEDIA_TYPE }
  return Response.json(problemDocument(kind, code, detail), { status: kind.status, headers })
}
