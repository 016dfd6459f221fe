/**
 * Decides at once while no commit is on its way to disk; what arrives in the meantime waits for it, and is then decided
 * in one turn and shares the next commit. So one caller never waits for others, and many share the cost of a flush.
 *
 * A decision is synchronous: what it reads cannot change before it writes. Each caller hears of its own failure only.
 * An answer leaves the object when its writes are on disk, because the runtime holds back what follows a write.
 */
export class GroupCommit {
  readonly #flushed: () => Promise<void>
  #waiting: (() => void)[] = []
  #flushing = false

  /** `flushed` resolves when everything written before it was called is on disk. */
  constructor(flushed: () => Promise<void>) {
    this.#flushed = flushed
  }

  run<T>(decide: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push(() => {
        try {
          resolve(decide())
        } catch (error) {
          reject(error)
        }
      })
      if (!this.#flushing) void this.#runAll()
    })
  }

  async #runAll(): Promise<void> {
    this.#flushing = true
    while (this.#waiting.length > 0) {
      const together = this.#waiting
      this.#waiting = []
      for (const decide of together) decide()
      try {
        await this.#flushed()
      } catch {
        // An object whose writes fail is reset by the runtime, which tells every caller.
      }
    }
    this.#flushing = false
  }
}
