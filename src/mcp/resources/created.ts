import type { McpServer } from "@modelcontextprotocol/server"
import { registryOf } from "../demo/registry.ts"
import type { Exchange } from "../exchange.ts"

const URI = "waxseal://created"

/** `waxseal://created`: the same list as the tool `list_created`, for clients that read. */
export function registerCreatedResource(server: McpServer, { identity }: Exchange): void {
  server.registerResource(
    "created",
    URI,
    { title: "What was created", description: "The databases of your organisation.", mimeType: "application/json" },
    async () => {
      const { databases } = await registryOf(identity.tenant).created()
      return { contents: [{ uri: URI, mimeType: "application/json", text: JSON.stringify({ databases }) }] }
    },
  )
}
