import { z } from "zod"

const Message = z.looseObject({
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string().optional(),
  params: z.looseObject({}).optional(),
  result: z.looseObject({}).optional(),
})
export type Message = z.infer<typeof Message>

/** An open event stream of JSON-RPC messages, read as they come. */
export interface EventStream {
  /** Those that have come so far. */
  readonly messages: readonly Message[]
  /** Resolves when the server ends the stream, and `leave` ends it from here. */
  readonly ended: Promise<void>
  leave(): Promise<void>
}

/** Reads a response that is an event stream, until it ends or its reader leaves. */
export function readEvents(response: Response): EventStream {
  if (!response.body || response.headers.get("content-type") !== "text/event-stream")
    throw new Error(`The answer (HTTP ${response.status}) is no event stream.`)
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  const messages: Message[] = []
  async function read(): Promise<void> {
    let text = ""
    for (;;) {
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }))
      if (done) return
      const events = `${text}${value}`.split("\n\n")
      text = events.pop() ?? ""
      messages.push(...events.flatMap(messageOf))
    }
  }
  return { messages, ended: read(), leave: () => reader.cancel() }
}

function messageOf(event: string): Message[] {
  const data = event
    .split("\n")
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice("data:".length))
    .join("\n")
  return data.trim() === "" ? [] : [Message.parse(JSON.parse(data))]
}
