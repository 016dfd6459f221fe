import { McpServer } from "@modelcontextprotocol/server"
import { VERSION } from "../version.ts"
import { demoSettings } from "./demo/settings.ts"
import type { Exchange } from "./exchange.ts"
import { type Era, serveOffers } from "./offer.ts"
import { incidentReportPrompt } from "./prompts/incident-report.ts"
import { connectionResource } from "./resources/connection.ts"
import { createdResource } from "./resources/created.ts"
import { createProjectTool } from "./tools/create-project.ts"
import { listCreatedTool } from "./tools/list-created.ts"
import { provisionDatabaseTool } from "./tools/provision-database.ts"
import { summarizeDocumentTool } from "./tools/summarize-document.ts"

const OFFERS = [
  provisionDatabaseTool,
  createProjectTool,
  listCreatedTool,
  incidentReportPrompt,
  createdResource,
  connectionResource,
]

/** Offered where a language model is configured. */
const WITH_MODEL = [...OFFERS, summarizeDocumentTool]

/** What is offered changes with a deployment only, and is the same for everyone. */
const LISTS = { ttlMs: 300_000, cacheScope: "public" } as const

/** The MCP server of one exchange: every request gets its own, and nothing outlives it. */
export function createServer(exchange: Exchange, era: Era): McpServer {
  const serving = serveOffers(demoSettings().llm ? WITH_MODEL : OFFERS, exchange, era)
  const server = new McpServer(
    { name: "waxseal", title: "Waxseal", version: VERSION },
    {
      ...serving.options,
      capabilities: {
        tools: { listChanged: false },
        prompts: { listChanged: false },
        resources: { listChanged: false, subscribe: false },
      },
      instructions: "Tools here ask the person before they act, and act once. Use list_created to see what exists.",
      cacheHints: {
        "server/discover": LISTS,
        "tools/list": LISTS,
        "prompts/list": LISTS,
        "resources/list": LISTS,
        "resources/templates/list": LISTS,
      },
    },
  )
  serving.register(server)
  return server
}
