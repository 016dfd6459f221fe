/** Why a request is turned away at the door, and what its challenge says (RFC 6750 3, RFC 9728 5.1). */
export type Refusal =
  | { readonly problem: "no_token" }
  | { readonly problem: "invalid_token" }
  | { readonly problem: "insufficient_scope"; readonly scope: string }
  | { readonly problem: "keys_unavailable" }

/** What an endpoint tells a caller whom it turns away, in whatever form its errors have. */
export interface Challenge {
  readonly status: number
  readonly code: "unauthorized" | "invalid_token" | "insufficient_scope" | "keys_unavailable"
  readonly detail: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * The answer to a request that may not pass: 401 with a challenge (and no `error` where no token was sent), 403 with
 * the scope that is missing, 503 with `Retry-After` while the issuer's keys cannot be had.
 *
 * @param resourceMetadata URL of the protected resource's metadata document
 */
export function challenge(refusal: Refusal, resourceMetadata: string): Challenge {
  const metadata = `resource_metadata="${resourceMetadata}"`
  switch (refusal.problem) {
    case "no_token":
      return {
        status: 401,
        code: "unauthorized",
        detail: "Send an access token: Authorization: Bearer <token>.",
        headers: { "WWW-Authenticate": `Bearer ${metadata}` },
      }
    case "invalid_token":
      return {
        status: 401,
        code: "invalid_token",
        detail: "The access token is not valid here; get a new one for this resource.",
        headers: { "WWW-Authenticate": `Bearer error="invalid_token", ${metadata}` },
      }
    case "insufficient_scope":
      return {
        status: 403,
        code: "insufficient_scope",
        detail: `The access token lacks the scope ${refusal.scope}.`,
        headers: { "WWW-Authenticate": `Bearer error="insufficient_scope", scope="${refusal.scope}", ${metadata}` },
      }
    case "keys_unavailable":
      return {
        status: 503,
        code: "keys_unavailable",
        detail: "The issuer's keys cannot be fetched; try again soon.",
        headers: { "Retry-After": "5" },
      }
  }
}

/** The challenge in the form of OAuth's own errors. */
export function refuse(refusal: Refusal, resourceMetadata: string): Response {
  const { status, code, detail, headers } = challenge(refusal, resourceMetadata)
  return Response.json({ error: code, error_description: detail }, { status, headers })
}
