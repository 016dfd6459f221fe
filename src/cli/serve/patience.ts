import { setTimeout as sleep } from "node:timers/promises"

/** A server that was just killed lets go of its folder and its port within this time. */
const PATIENCE_MS = 3_000

/** Tries again for a while as long as the error may pass. */
export async function patiently(
  attempt: () => void | Promise<void>,
  mayPass: (error: unknown) => boolean,
): Promise<void> {
  const giveUpAt = Date.now() + PATIENCE_MS
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (!mayPass(error) || Date.now() > giveUpAt) throw error
      await sleep(50)
    }
  }
}
