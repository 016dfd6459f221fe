import { apiResource } from "./api-resource.ts"
import { createServer } from "./mcp/index.ts"
import { mcpResource } from "./mcp-resource.ts"
import { createWorker } from "./worker.ts"

export { Ledger } from "./ledger/index.ts"
export { Registry } from "./mcp/index.ts"

export default createWorker([mcpResource(createServer), apiResource])
