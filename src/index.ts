import { apiResource } from "./api-resource.ts"
import { createServer } from "./mcp/index.ts"
import { mcpResource } from "./mcp-resource.ts"
import { sessionOf } from "./mcp-session.ts"
import { createWorker } from "./worker.ts"

export { Ledger } from "./ledger/index.ts"
export { Changes, Registry, SessionList } from "./mcp/index.ts"

export const Session = sessionOf(createServer)

export default createWorker([mcpResource(createServer), apiResource])
