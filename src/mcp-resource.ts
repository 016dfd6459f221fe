import { MCP_SCOPES } from "./auth/index.ts"
import { createMcpEndpoint, MCP_PATH } from "./mcp/endpoint.ts"
import type { CreateServer } from "./mcp/sdk.ts"
import type { Resource } from "./resource.ts"

/**
 * The MCP endpoint of one kind of server, at `/mcp`: Streamable HTTP of revision 2026-07-28, behind access tokens with the
 * scope `mcp`. Bodies have at most 1 MiB.
 *
 * @example
 * createWorker([mcpResource(serverOf({ name: "my-server", version: "1.0.0" }, [myTool]))])
 */
export function mcpResource(createServer: CreateServer): Resource {
  const endpoint = createMcpEndpoint(createServer)
  return {
    title: "MCP endpoint",
    path: MCP_PATH,
    route: MCP_PATH,
    scopes: MCP_SCOPES,
    serve(request, { base, services, context }) {
      const { verifier, mcpRateLimiter: rateLimiter, legacy, changes, homeOf, mcpParts, observe } = services
      const parts = mcpParts(() => homeOf(request), context)
      return endpoint(request, { base, verifier, rateLimiter, legacy, changes, parts, observe })
    },
  }
}
