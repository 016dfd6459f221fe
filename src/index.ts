import { apiResource } from "./api/index.ts"
import { createServer, mcpResource } from "./mcp/index.ts"
import { createWorker } from "./worker.ts"

export { Ledger } from "./ledger/index.ts"
export { Registry } from "./mcp/index.ts"

export default createWorker([mcpResource(createServer), apiResource])
