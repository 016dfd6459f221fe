import type { Change } from "./change.ts"

/**
 * Changes on their way to one reader. While it reads, they pass; while it does not, they wait, and the same change waits
 * once: to know that something changed, it is enough to be told after the last time. So a reader that is slow, or has
 * stopped, holds up no more than it asked to be told of.
 */
export class Outbox {
  readonly #tell: (change: Change) => void
  readonly #waiting = new Map<string, Change>()
  #reading = false
  #closed = false

  constructor(tell: (change: Change) => void) {
    this.#tell = tell
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** Nothing passes any more, and what waits is let go. */
  close(): void {
    this.#closed = true
    this.#waiting.clear()
  }

  put(change: Change): void {
    if (this.#closed) return
    if (this.#reading) this.#tell(change)
    else this.#waiting.set(JSON.stringify(change), change)
  }

  /** The frames that come of what is put here, one at a time as they are read. `over` is called when nobody reads them any more. */
  paced(frames: ReadableStream<Uint8Array>, over: () => void): ReadableStream<Uint8Array> {
    const reader = frames.getReader()
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const next = reader.read()
          this.#resume()
          const { done, value } = await next
          this.#reading = false
          if (!done) return controller.enqueue(value)
          over()
          controller.close()
        },
        cancel: async (reason) => {
          over()
          await reader.cancel(reason)
        },
      },
      { highWaterMark: 0 },
    )
  }

  #resume(): void {
    this.#reading = true
    for (const [name, change] of this.#waiting) {
      this.#waiting.delete(name)
      this.#tell(change)
      return
    }
  }
}
