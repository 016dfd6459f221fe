/** What an access token may allow at `/mcp`: everything, and beside it the creation of projects. */
export const MCP_SCOPES: readonly string[] = ["mcp", "projects:create"]
