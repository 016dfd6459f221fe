import { VERSION } from "../version.ts"
import { demoSettings } from "./demo/settings.ts"
import { serverOf } from "./offer.ts"
import { incidentReportPrompt } from "./prompts/incident-report.ts"
import { connectionResource } from "./resources/connection.ts"
import { createdResource } from "./resources/created.ts"
import type { CreateServer } from "./sdk.ts"
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

const INFO = { name: "waxseal", title: "Waxseal", version: VERSION }

const OPTIONS = {
  instructions: "Tools here ask the person before they act, and act once. Use list_created to see what exists.",
  cacheHints: {
    "server/discover": LISTS,
    "tools/list": LISTS,
    "prompts/list": LISTS,
    "resources/list": LISTS,
    "resources/templates/list": LISTS,
  },
} as const

const withoutModel = serverOf(INFO, OFFERS, OPTIONS)
const withModel = serverOf(INFO, WITH_MODEL, OPTIONS)

/** The product's own MCP server. */
export const createServer: CreateServer = (exchanges) => (demoSettings().llm ? withModel : withoutModel)(exchanges)
