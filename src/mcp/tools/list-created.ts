import type { McpServer } from "@modelcontextprotocol/server"
import { z } from "zod"
import { registryOf } from "../demo/registry.ts"
import type { Exchange } from "../exchange.ts"

const Created = z.object({
  databases: z.array(z.object({ name: z.string(), region: z.string(), createdAt: z.string() })),
})

const CONFIG = {
  title: "List what was created",
  description: "Lists the databases that exist in your organisation, so that anyone can see what an approval made.",
  inputSchema: z.object({}),
  outputSchema: Created,
  annotations: { readOnlyHint: true, openWorldHint: false },
}

/** `list_created`: what the other tools made, for the caller's tenant. */
export function registerListCreated(server: McpServer, { identity }: Exchange): void {
  server.registerTool("list_created", CONFIG, async () => {
    const { databases } = await registryOf(identity.tenant).created()
    const lines = databases.map(({ name, region }) => `${name} in ${region}`)
    return {
      content: [{ type: "text", text: lines.length === 0 ? "Nothing was created yet." : lines.join("\n") }],
      structuredContent: { databases },
    }
  })
}
