import { McpServer } from "@modelcontextprotocol/server"
import { VERSION } from "../version.ts"
import type { Exchange } from "./exchange.ts"
import { type Askable, type Era, serveAskables } from "./legs.ts"
import { incidentReportPrompt } from "./prompts/incident-report.ts"
import { registerCreatedResource } from "./resources/created.ts"
import { registerListCreated } from "./tools/list-created.ts"
import { provisionDatabaseTool } from "./tools/provision-database.ts"

const ASKING: readonly Askable[] = [provisionDatabaseTool, incidentReportPrompt]

/** The MCP server of one exchange: every request gets its own, and nothing outlives it. */
export function createServer(exchange: Exchange, era: Era): McpServer {
  const asking = serveAskables(ASKING, exchange, era)
  const server = new McpServer(
    { name: "waxseal", title: "Waxseal", version: VERSION },
    {
      ...asking.options,
      capabilities: {
        tools: { listChanged: false },
        prompts: { listChanged: false },
        resources: { listChanged: false, subscribe: false },
      },
      instructions: "Tools here ask the person before they act, and act once. Use list_created to see what exists.",
    },
  )
  asking.register(server)
  registerListCreated(server, exchange)
  registerCreatedResource(server, exchange)
  return server
}
