import { type McpRequestContext, McpServer } from "@modelcontextprotocol/server"
import { VERSION } from "../version.ts"
import type { Exchange } from "./exchange.ts"
import { serveOperationTools } from "./operation-tool.ts"
import { registerCreatedResource } from "./resources/created.ts"
import { registerListCreated } from "./tools/list-created.ts"
import { provisionDatabaseTool } from "./tools/provision-database.ts"

const OPERATIONS = [provisionDatabaseTool]

/** The MCP server of one exchange: every request gets its own, and nothing outlives it. */
export function createServer(exchange: Exchange, era: McpRequestContext["era"]): McpServer {
  const operations = serveOperationTools(OPERATIONS, exchange, era)
  const server = new McpServer(
    { name: "waxseal", title: "Waxseal", version: VERSION },
    {
      capabilities: { tools: { listChanged: false }, resources: { listChanged: false, subscribe: false } },
      instructions: "Tools here ask the person before they act, and act once. Use list_created to see what exists.",
      inputRequired: { legacyShim: false },
      requestState: { verify: operations.verify },
    },
  )
  operations.register(server)
  registerListCreated(server, exchange)
  registerCreatedResource(server, exchange)
  return server
}
