import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"

/** What happens to one request. */
export type Fate =
  /** It passes. */
  | "pass"
  /** The server acts, and the answer is lost. */
  | "lose the answer"
  /** The connection ends before the server hears of it. */
  | "cut"
  /** Nothing ever comes back, and the server hears nothing. */
  | "hang"
  /** Something in front of the server answers. */
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }

export interface Seen {
  readonly path: string
  readonly body: string
  /** By `performance.now()`. */
  readonly at: number
}

/** Stands between a client and its server, and lets requests meet their fates, in order; the rest pass. */
export interface FlakyProxy {
  readonly url: string
  /** The requests that came since the fates were told. */
  readonly seen: readonly Seen[]
  fates(...fates: readonly Fate[]): void
  stop(): Promise<void>
}

export async function startFlakyProxy(target: string): Promise<FlakyProxy> {
  let coming: Fate[] = []
  let seen: Seen[] = []
  const server = createServer(async (incoming, outgoing) => {
    const body = await bodyOf(incoming)
    seen.push({ path: incoming.url ?? "", body, at: performance.now() })
    await meet(coming.shift() ?? "pass", { incoming, outgoing, body, target })
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("no port")
  return {
    url: `http://127.0.0.1:${address.port}`,
    get seen() {
      return seen
    },
    fates(...fates) {
      coming = [...fates]
      seen = []
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
  }
}

interface Passing {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  readonly body: string
  readonly target: string
}

async function meet(fate: Fate, { incoming, outgoing, body, target }: Passing): Promise<void> {
  if (fate === "hang") return
  if (fate === "cut") return void incoming.socket.destroy()
  if (typeof fate === "object") return void outgoing.writeHead(fate.status, fate.headers).end(fate.body)
  const { method = "GET", url = "", headers } = incoming
  const response = await fetch(`${target}${url}`, {
    method,
    headers: Object.entries(headers).flatMap(([name, value]): [string, string][] =>
      ["authorization", "content-type"].includes(name) ? [[name, String(value)]] : [],
    ),
    ...(body !== "" && { body }),
  })
  const text = await response.text()
  if (fate === "lose the answer") return void incoming.socket.destroy()
  outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(text)
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  let body = ""
  for await (const chunk of incoming.setEncoding("utf8")) body += chunk
  return body
}
