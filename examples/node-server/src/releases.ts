// The MCP server: one tool, which asks a person before it acts, and acts once.
import { appendFile } from "node:fs/promises"
import {
  acceptedContent,
  type CallToolResult,
  createMcpHandler,
  inputRequired,
  inputResponse,
  McpServer,
} from "@modelcontextprotocol/server"
import { createClient } from "waxseal/client"
import { createApiCodec } from "waxseal/codec"
import { z } from "zod"

/** It ends up in a question and in a line of its own: neither may be broken. */
const Version = z.object({ version: z.string().regex(/^[\w.+-]{1,50}$/) })
const Approval = z.object({ approved: z.boolean() })

const codec = createApiCodec({
  client: createClient({ url: setting("WAXSEAL_URL"), token: setting("WAXSEAL_TOKEN") }),
  principal: ({ http }) => http?.authInfo?.clientId,
  audience: "releases",
  parse: Version.parse,
})

/** Whatever the person says is said once: no other answer, and no repeat of this one, does anything more. */
const settle = codec.once(async ({ version, approved }: { version: string; approved: boolean }) => {
  if (!approved) return text(`${version} was not released.`)
  await appendFile(setting("RELEASES"), `${version}\n`)
  return text(`${version} was released.`)
})

function createServer(): McpServer {
  const server = new McpServer({ name: "releases", version: "1.0.0" }, { requestState: { verify: codec.verify } })
  const config = { description: "Releases a version, after a person has approved it.", inputSchema: Version }
  server.registerTool("release", config, async ({ version }, context) => {
    const { inputResponses, requestState } = context.mcpReq
    const answer = inputResponse(inputResponses, "approval")
    const isDeclined = answer.kind === "elicit" && answer.action !== "accept"
    const approval = isDeclined ? { approved: false } : acceptedContent(inputResponses, "approval", Approval)
    // An answer counts only beside the state of the question: nobody was shown any other.
    if (requestState() !== undefined && approval) return settle({ version, ...approval }, context)
    return inputRequired({
      inputRequests: {
        approval: inputRequired.elicit({
          message: `Release ${version} to everyone?`,
          requestedSchema: { type: "object", properties: { approved: { type: "boolean" } }, required: ["approved"] },
        }),
      },
      requestState: await codec.mint({ version }, context),
    })
  })
  return server
}

const handler = createMcpHandler(createServer, { legacy: "reject" })

/** Answers one request whose body has been parsed and whose sender is known. */
export function serveReleases(request: Request, parsedBody: unknown, user: string): Promise<Response> {
  return codec.serve(handler, request, { parsedBody, authInfo: { token: "", clientId: user, scopes: [] } })
}

function text(said: string): CallToolResult {
  return { content: [{ type: "text", text: said }] }
}

function setting(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set; see the README.`)
  return value
}
