import { createServer } from "./mcp/index.ts"
import { createWorker } from "./worker.ts"

export { Ledger } from "./ledger/index.ts"
export { Registry } from "./mcp/index.ts"

export default createWorker(createServer)
