/*
 * The sealing API: what stands in front of `/v1`, one file for each call or small group, and their OpenAPI document.
 * Knows tokens, ledgers and identities; knows nothing of MCP's wire, of the operation runtime, or of settings.
 */
export type { ApiEvent, ApiParts } from "./call.ts"
export { openApi } from "./openapi.ts"
export { API_PATH, serveApi } from "./serve.ts"
