import { once } from "node:events"
import { createServer } from "node:http"
import { json } from "node:stream/consumers"
import { z } from "zod"

const Asked = z.object({ messages: z.array(z.object({ role: z.string(), content: z.string() })) })

/** A server on this machine that speaks the API of a language model, and counts the documents that it is sent. */
export interface ModelServer {
  readonly settings: Readonly<Record<"LLM_BASE_URL" | "LLM_MODELS", string>>
  timesAsked(document: string): number
  stop(): void
}

export async function startModelServer(): Promise<ModelServer> {
  const documents: string[] = []
  const server = createServer(async (request, response) => {
    const { messages } = Asked.parse(await json(request))
    documents.push(...messages.flatMap(({ role, content }) => (role === "user" ? [content] : [])))
    const message = { role: "assistant", content: "In short." }
    const answer = { id: "1", object: "chat.completion", choices: [{ index: 0, finish_reason: "stop", message }] }
    response.setHeader("content-type", "application/json").end(JSON.stringify(answer))
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = z.object({ port: z.number() }).parse(server.address())
  return {
    settings: {
      LLM_BASE_URL: `http://127.0.0.1:${address.port}/v1`,
      LLM_MODELS: JSON.stringify({ fast: "f", balanced: "b", high_quality: "h" }),
    },
    timesAsked: (document) => documents.filter((one) => one === document).length,
    stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}
