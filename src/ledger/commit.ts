/**
 * Runs decisions that arrive together in one turn, so that they share one commit.
 *
 * A decision is synchronous: what it reads cannot change before it writes. Each caller hears of its own failure only.
 * An answer leaves the object when its writes are on disk, because the runtime holds back what follows a write.
 */
export class GroupCommit {
  #waiting: (() => void)[] = []

  run<T>(decide: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setTimeout(() => this.#runAll(), 0)
      this.#waiting.push(() => {
        try {
          resolve(decide())
        } catch (error) {
          reject(error)
        }
      })
    })
  }

  #runAll(): void {
    const together = this.#waiting
    this.#waiting = []
    for (const decide of together) decide()
  }
}
