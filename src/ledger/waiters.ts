import { bytesToBase64Url } from "../seal/index.ts"

/** So many may wait for one operation; whoever comes after them is answered at once. */
const MOST_WAITERS = 32

/**
 * Those who wait for a running attempt to end. They are in memory only and nothing is decided by them: whoever is woken
 * asks storage again, and whoever a crash forgets hears of the crash.
 */
export class Waiters {
  readonly #waiting = new Map<string, Set<() => void>>()

  /**
   * Resolves when the operation is woken or the time is over, with the milliseconds that it took: where the clock steps,
   * none or all of them. `undefined` when too many wait already.
   */
  join(id: Uint8Array, milliseconds: number): Promise<number> | undefined {
    const name = bytesToBase64Url(id)
    const together = this.#waiting.get(name) ?? new Set()
    if (together.size >= MOST_WAITERS) return undefined
    this.#waiting.set(name, together)
    return new Promise((resolve) => {
      const began = Date.now()
      const leave = (took: number) => {
        clearTimeout(timer)
        together.delete(woken)
        if (together.size === 0) this.#waiting.delete(name)
        resolve(took)
      }
      const woken = () => leave(Math.min(Math.max(Date.now() - began, 0), milliseconds))
      const timer = setTimeout(() => leave(milliseconds), milliseconds)
      together.add(woken)
    })
  }

  wake(id: Uint8Array): void {
    if (this.#waiting.size === 0) return
    for (const woken of [...(this.#waiting.get(bytesToBase64Url(id)) ?? [])]) woken()
  }
}
