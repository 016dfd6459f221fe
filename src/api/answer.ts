import type { Json } from "../brands.ts"
import { PROBLEM_MEDIA_TYPE } from "../problem.ts"

/** How a call is answered, over HTTP by itself or in a batch with others. */
export interface Answer {
  readonly status: number
  readonly body: { readonly [member: string]: Json }
  readonly headers?: Readonly<Record<string, string>>
}

/** Answers are for their caller alone, and states must not lie in caches. */
export function toResponse({ status, body, headers }: Answer): Response {
  const type = status < 400 ? "application/json" : PROBLEM_MEDIA_TYPE
  return new Response(JSON.stringify(body), {
    status,
    headers: { ...headers, "Content-Type": type, "Cache-Control": "no-store" },
  })
}
