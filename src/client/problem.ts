import { Problem } from "./answers.ts"
import { WaxsealError } from "./errors.ts"

/** What an answer other than a success says. `retryAfterSeconds` is the header's, where there was one. */
export function errorOf(status: number, body: unknown, retryAfterSeconds?: number): WaxsealError {
  const { data: problem } = Problem.safeParse(body)
  if (!problem) return notTheApi(status, retryAfterSeconds)
  const { code, detail, ...details } = problem
  return new WaxsealError(code, detail, {
    ...details,
    status,
    retryAfterSeconds: retryAfterSeconds ?? details.retryAfterSeconds,
  })
}

/** What answered is not the API, or not of a version that this client knows. */
export function notTheApi(status: number, retryAfterSeconds?: number): WaxsealError {
  const message = `HTTP ${status}, and not as the sealing API answers; see whether url is its origin.`
  return new WaxsealError("unexpected_answer", message, { status, retryAfterSeconds })
}

/** RFC 9110 10.2.3: seconds, or a date. */
export function retryAfterOf(header: string | null): number | undefined {
  if (header === null) return undefined
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1_000
  return Number.isFinite(seconds) ? Math.max(seconds, 0) : undefined
}
