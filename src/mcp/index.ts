/*
 * The MCP endpoint: what stands in front of the official SDK, sessions for its earlier clients, and one file for each
 * tool, prompt and resource.
 * Knows operations and identities; knows nothing of how state is sealed or where records live.
 */
export { Changes } from "./changes/index.ts"
export { Registry } from "./demo/registry.ts"
export { createServer } from "./server.ts"
export { SessionList } from "./session/index.ts"
