/** The first pause is 50 ms and each is twice the one before; no new try begins later than this after the first. */
const BUDGET_MS = 1500
const FIRST_PAUSE_MS = 50

/** Marks of errors after which another try may help: the way there was cut, or the object restarts (new code). */
const MAY_HELP = ["retryable", "durableObjectReset"] as const

/** The ledger could not be reached. What the call meant to do may have happened: the same call again is safe. */
export class LedgerUnavailable extends Error {
  override readonly name: string = "LedgerUnavailable"
  /** For `Retry-After`. */
  readonly retryAfterSeconds: number = 1
}

/** The ledger object has more work than it can do. Calling it again at once would make that worse. */
export class LedgerOverloaded extends LedgerUnavailable {
  override readonly name = "LedgerOverloaded"
  override readonly retryAfterSeconds = 5
}

/**
 * Calls until it succeeds, while the runtime says that another try may help and the time budget lasts. `call` may run
 * several times, also after a try that worked and whose answer was lost. It must make a new stub each time: a stub
 * that has thrown stays broken.
 *
 * @throws {LedgerOverloaded} at once, when the object is overloaded
 * @throws {LedgerUnavailable} when the budget is spent
 */
export async function withRetries<T>(call: () => Promise<T>): Promise<T> {
  const giveUpAt = Date.now() + BUDGET_MS
  for (let pause = FIRST_PAUSE_MS; ; pause *= 2) {
    try {
      return await call()
    } catch (error) {
      if (isMarked(error, "overloaded"))
        throw new LedgerOverloaded("The ledger is overloaded; try again in some seconds.", { cause: error })
      if (!MAY_HELP.some((mark) => isMarked(error, mark))) throw error
      if (Date.now() + pause > giveUpAt)
        throw new LedgerUnavailable("The ledger did not answer; try again in a moment.", { cause: error })
    }
    await sleep(pause * (0.5 + Math.random() / 2))
  }
}

function isMarked(error: unknown, mark: string): boolean {
  return error instanceof Error && Reflect.get(error, mark) === true
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
