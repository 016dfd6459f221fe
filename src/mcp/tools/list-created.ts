import type { CallToolResult } from "@modelcontextprotocol/server"
import { z } from "zod"
import type { TenantId } from "../../brands.ts"
import { registryOf } from "../demo/registry.ts"
import { plainOffer } from "../offer.ts"

const Created = z.object({
  databases: z.array(z.object({ name: z.string(), region: z.string(), createdAt: z.string() })),
  projects: z.array(
    z.object({ name: z.string(), account: z.string(), monthlyCostUsd: z.number(), createdAt: z.string() }),
  ),
})

const NAME = "list_created"

const CONFIG = {
  title: "List what was created",
  description:
    "Lists the databases and projects that exist in your organisation, so that anyone can see what an approval made.",
  inputSchema: z.object({}),
  outputSchema: Created,
  annotations: { readOnlyHint: true, openWorldHint: false },
}

/** `list_created`: what the other tools made, for the caller's tenant. */
export const listCreatedTool = plainOffer("tools/call", NAME, (server, guard) => {
  server.registerTool(NAME, CONFIG, (_input, context) => guard(context, ({ identity }) => list(identity.tenant)))
})

async function list(tenant: TenantId): Promise<CallToolResult> {
  const { databases, projects } = await registryOf(tenant).created()
  const lines = [
    ...databases.map(({ name, region }) => `database ${name} in ${region}`),
    ...projects.map(({ name, account, monthlyCostUsd }) => `project ${name} for $${monthlyCostUsd} by ${account}`),
  ]
  return {
    content: [{ type: "text", text: lines.length === 0 ? "Nothing was created yet." : lines.join("\n") }],
    structuredContent: { databases, projects },
  }
}
