import { z } from "zod"

/** A message of JSON-RPC as it came. */
export type Message = z.infer<typeof Message>
const Message = z.looseObject({
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string().optional(),
  params: z.record(z.string(), z.unknown()).optional(),
  result: z.record(z.string(), z.unknown()).optional(),
  error: z.looseObject({ code: z.number(), message: z.string() }).optional(),
})

type Headers = Readonly<Record<string, string>>

/** A client of revision 2025-11-25 that sends by hand, so that it can do what no client should. */
export interface LegacyClient {
  readonly url: string
  /** The id that `initialize` got; absent where it got none. */
  readonly session: string | undefined
  /** Sends one message in the session and gives the answer as it came. */
  send(message: object, headers?: Headers): Promise<Response>
  /** Sends a request with an id of its own and gives what comes on its stream. */
  call(method: string, params: object, headers?: Headers): Promise<Stream>
  end(headers?: Headers): Promise<Response>
}

/** The stream of one call. */
export interface Stream {
  readonly id: number
  readonly response: Response
  /** The next message; throws where the stream ends without one. */
  next(): Promise<Message>
  /** Hangs up. */
  cancel(): Promise<void>
}

const PROTOCOL_VERSION = "2025-11-25"
const CAPABILITIES = { elicitation: { form: {} } }

let lastId = 0

/** Opens a session: `initialize`, and the notification that follows it. */
export async function openSession(
  url: string,
  token: string,
  { capabilities = CAPABILITIES, name = "waxseal-test" }: { capabilities?: object; name?: string } = {},
): Promise<LegacyClient> {
  const clientInfo = { name, version: "1.0.0" }
  const params = { protocolVersion: PROTOCOL_VERSION, capabilities, clientInfo }
  const response = await post(url, token, { id: ++lastId, method: "initialize", params })
  await response.text()
  const client = legacyClient(url, token, response.headers.get("mcp-session-id") ?? undefined)
  await client.send({ method: "notifications/initialized" })
  return client
}

/** A client that has a session's id, whoever's it is. */
export function legacyClient(url: string, token: string, session: string | undefined): LegacyClient {
  const own = { "mcp-protocol-version": PROTOCOL_VERSION, ...(session !== undefined && { "mcp-session-id": session }) }
  const client: LegacyClient = {
    url,
    session,
    send: (message, headers) => post(url, token, message, { ...own, ...headers }),
    async call(method, params, headers) {
      const id = ++lastId
      return streamOf(id, await client.send({ id, method, params }, headers))
    },
    end: (headers) =>
      fetch(url, { method: "DELETE", headers: { authorization: `Bearer ${token}`, ...own, ...headers } }),
  }
  return client
}

function post(url: string, token: string, message: object, headers: Headers = {}): Promise<Response> {
  const standard = { "content-type": "application/json", accept: "application/json, text/event-stream" }
  return fetch(url, {
    method: "POST",
    headers: { ...standard, authorization: `Bearer ${token}`, ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", ...message }),
  })
}

function streamOf(id: number, response: Response): Stream {
  const messages = messagesOf(response)
  return {
    id,
    response,
    async next() {
      const { value, done } = await messages.next()
      if (done) throw new Error(`The stream (HTTP ${response.status}) has ended.`)
      return value
    },
    async cancel() {
      await messages.return(undefined)
    },
  }
}

async function* messagesOf(response: Response): AsyncGenerator<Message, undefined> {
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
    const text = await response.text()
    if (text !== "") yield Message.parse(JSON.parse(text))
    return undefined
  }
  let text = ""
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk
    const events = text.split("\n\n")
    text = events.pop() ?? ""
    for (const event of events) {
      const data = event.split("\n").find((line) => line.startsWith("data: "))
      if (data !== undefined) yield Message.parse(JSON.parse(data.slice("data: ".length)))
    }
  }
  return undefined
}
