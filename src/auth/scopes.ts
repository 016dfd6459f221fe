/** What an access token may allow at `/mcp`: everything, and beside it the creation of projects. */
export const MCP_SCOPES: readonly string[] = ["mcp", "projects:create"]

/** What one may allow at `/v1`, each endpoint by a scope of its own. */
export const API_SCOPES = ["state:seal", "state:open", "state:redeem", "operations"] as const
