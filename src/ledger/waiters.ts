import { bytesToBase64Url } from "../seal/index.ts"

/** So many may wait for one operation; whoever comes after them is answered at once. */
const MOST_WAITERS = 32

/**
 * Those who wait for a running attempt to end. They are in memory only and nothing is decided by them: whoever is woken
 * asks storage again, and whoever a crash forgets hears of the crash.
 */
export class Waiters {
  readonly #waiting = new Map<string, Set<() => void>>()

  /** Resolves when the operation is woken or the time is over; `undefined` when too many wait already. */
  join(id: Uint8Array, milliseconds: number): Promise<void> | undefined {
    const name = bytesToBase64Url(id)
    const together = this.#waiting.get(name) ?? new Set()
    if (together.size >= MOST_WAITERS) return undefined
    this.#waiting.set(name, together)
    return new Promise((resolve) => {
      const leave = () => {
        clearTimeout(timer)
        together.delete(leave)
        if (together.size === 0) this.#waiting.delete(name)
        resolve()
      }
      const timer = setTimeout(leave, milliseconds)
      together.add(leave)
    })
  }

  wake(id: Uint8Array): void {
    if (this.#waiting.size === 0) return
    for (const leave of [...(this.#waiting.get(bytesToBase64Url(id)) ?? [])]) leave()
  }
}
