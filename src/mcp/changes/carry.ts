import { Change } from "./change.ts"
import type { Joined } from "./client.ts"
import { Outbox } from "./outbox.ts"

/** No stream is longer than this; whoever still wants to know listens again. */
const LONGEST_MS = 3_600_000

/** One client's open stream of events. */
export interface Stream {
  readonly frames: ReadableStream<Uint8Array>
  /** Writes the frame of one change, if this client asked for it. */
  tell(change: Change): void
  /** Ends the frames as an orderly server does; called once at most. */
  end(): void
}

/**
 * Carries changes from a tenant's bus to one client's stream, until the client goes, the bus goes, the server
 * stops, or the time is over.
 *
 * @param expiresAt end of the access token that the stream was opened with, in milliseconds since 1970
 */
export function carry({ socket, stop }: Joined, stream: Stream, expiresAt: number): ReadableStream<Uint8Array> {
  const outbox = new Outbox((change) => stream.tell(change))
  const timer = setTimeout(end, Math.min(expiresAt - Date.now(), LONGEST_MS))

  function leave(): void {
    outbox.close()
    clearTimeout(timer)
    socket.close()
  }
  /** Once: the end of a socket says so again. */
  function end(): void {
    if (outbox.isClosed) return
    leave()
    stream.end()
  }

  socket.addEventListener("message", ({ data }) => {
    const change = Change.safeParse(JSON.parse(String(data)))
    if (change.success) outbox.put(change.data)
  })
  socket.addEventListener("close", end)
  socket.addEventListener("error", end)
  void stop.then(end)
  socket.accept()
  return outbox.paced(stream.frames, leave)
}
