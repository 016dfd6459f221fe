import { API_PATH, openApi, serveApi } from "./api/index.ts"
import { API_SCOPES } from "./auth/index.ts"
import type { Resource } from "./resource.ts"

/** The sealing API, under `/v1`, with its OpenAPI document. */
export const apiResource: Resource = {
  title: "Sealing API",
  path: API_PATH,
  route: `${API_PATH}/*`,
  scopes: API_SCOPES,
  serve: (request, { url, base, services: { verifier, apiParts } }) =>
    serveApi(request, { url, base, verifier, parts: apiParts(request) }),
  documents: { "/openapi.json": openApi },
}
