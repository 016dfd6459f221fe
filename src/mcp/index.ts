/*
 * The MCP endpoint: what stands in front of the official SDK, and one file for each tool, prompt and resource.
 * Knows operations and identities; knows nothing of how state is sealed or where records live.
 */
import { createMcpEndpoint } from "./endpoint.ts"
import { createServer } from "./server.ts"

export { Registry } from "./demo/registry.ts"
export { MCP_PATH } from "./endpoint.ts"

/** The product's own endpoint. */
export const serveMcp = createMcpEndpoint(createServer)
