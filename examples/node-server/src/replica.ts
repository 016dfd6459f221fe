// One replica: HTTP, and who is calling. It keeps nothing, so any replica may serve any leg.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { z } from "zod"
import { serveReleases } from "./releases.ts"

const BODY_LIMIT_BYTES = 1_048_576

/** Stands in for the verification of access tokens, such as `verifyBearerToken` of the SDK: users by their token. */
const USERS = new Map(Object.entries(z.record(z.string(), z.string()).parse(JSON.parse(process.env["USERS"] ?? "{}"))))

async function answer(incoming: IncomingMessage): Promise<Response> {
  const user = USERS.get(incoming.headers.authorization?.replace(/^Bearer /i, "") ?? "")
  if (user === undefined) return new Response(null, { status: 401, headers: { "www-authenticate": "Bearer" } })
  if (incoming.method !== "POST") return new Response(null, { status: 405, headers: { allow: "POST" } })
  const body = await bodyOf(incoming)
  if (body === undefined) return new Response(null, { status: 413 })
  const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)])
  const request = new Request("http://localhost/mcp", { method: "POST", headers, body })
  return serveReleases(request, jsonOf(body), user)
}

async function bodyOf(incoming: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of incoming) {
    length += chunk.length
    if (length > BODY_LIMIT_BYTES) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** The SDK reads the body itself, and says what is wrong with it, where it is not JSON. */
function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

async function serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const response = await answer(incoming)
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  outgoing.end(await response.text())
}

const server = createServer((incoming, outgoing) => {
  serve(incoming, outgoing).catch((error) => {
    console.error(error)
    outgoing.destroy()
  })
})
server.listen(0, "127.0.0.1", () => process.send?.(server.address()))
