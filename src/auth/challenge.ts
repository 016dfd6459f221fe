/** Why a request is turned away at the door, and what its challenge says (RFC 6750 3, RFC 9728 5.1). */
export type Refusal =
  | { readonly problem: "no_token" }
  | { readonly problem: "invalid_token" }
  | { readonly problem: "insufficient_scope"; readonly scope: string }
  | { readonly problem: "keys_unavailable" }

/**
 * The answer to a request that may not pass: 401 with a challenge (and no `error` where no token was sent), 403 with
 * the scope that is missing, 503 with `Retry-After` while the issuer's keys cannot be had.
 *
 * @param resourceMetadata URL of the protected resource's metadata document
 */
export function refuse(refusal: Refusal, resourceMetadata: string): Response {
  const metadata = `resource_metadata="${resourceMetadata}"`
  switch (refusal.problem) {
    case "no_token":
      return answer(401, "unauthorized", "Send an access token: Authorization: Bearer <token>.", {
        "WWW-Authenticate": `Bearer ${metadata}`,
      })
    case "invalid_token":
      return answer(401, "invalid_token", "The access token is not valid here; get a new one for this resource.", {
        "WWW-Authenticate": `Bearer error="invalid_token", ${metadata}`,
      })
    case "insufficient_scope":
      return answer(403, "insufficient_scope", `The access token lacks the scope ${refusal.scope}.`, {
        "WWW-Authenticate": `Bearer error="insufficient_scope", scope="${refusal.scope}", ${metadata}`,
      })
    case "keys_unavailable":
      return answer(503, "keys_unavailable", "The issuer's keys cannot be fetched; try again soon.", {
        "Retry-After": "5",
      })
  }
}

function answer(status: number, error: string, description: string, headers: Record<string, string>): Response {
  return Response.json({ error, error_description: description }, { status, headers })
}
