import type { Change, Stream } from "../changes/index.ts"

/** Whatever stands between server and client closes what is silent for longer. */
const KEEP_ALIVE_MS = 15_000

/** Changes as server-sent events, each a notification of 2025-11-25. A comment comes first, so that the stream opens. */
export class ChangeEvents implements Stream {
  readonly frames: ReadableStream<Uint8Array>
  readonly #encoder = new TextEncoder()
  readonly #keepAlive = setInterval(() => this.#write(": keepalive"), KEEP_ALIVE_MS)
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined

  constructor() {
    this.frames = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller
      },
      cancel: () => clearInterval(this.#keepAlive),
    })
    this.#write(": listening")
  }

  tell(change: Change): void {
    this.#write(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...notificationOf(change) })}`)
  }

  end(): void {
    clearInterval(this.#keepAlive)
    this.#controller?.close()
  }

  #write(event: string): void {
    this.#controller?.enqueue(this.#encoder.encode(`${event}\n\n`))
  }
}

function notificationOf(change: Change): { method: string; params?: { uri: string } } {
  switch (change.kind) {
    case "tools_list_changed":
      return { method: "notifications/tools/list_changed" }
    case "prompts_list_changed":
      return { method: "notifications/prompts/list_changed" }
    case "resources_list_changed":
      return { method: "notifications/resources/list_changed" }
    case "resource_updated":
      return { method: "notifications/resources/updated", params: { uri: change.uri } }
  }
}
