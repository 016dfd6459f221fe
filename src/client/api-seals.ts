import type { Client } from "./client.ts"
import { codeOf, WaxsealError } from "./errors.ts"
import { noRoundsLeft, type Seals } from "./seals.ts"

const FOR_GOOD = "This call cannot be asked about: its arguments or its state cannot be sealed."
const FOR_NOW = "The state service cannot be used now; try again later."

/** What people and models may read: nothing of what the API said to this server. `cause` says it to this server alone. */
export function unusable(cause: unknown): Error {
  const code = codeOf(cause)
  return new Error(code === "invalid_body" || code === "body_too_large" ? FOR_GOOD : FOR_NOW, { cause })
}

/** Seals over the API. */
export function apiSeals(client: Client): Seals {
  return {
    async seal(bound, state, { continues, ttlSeconds, ...ofTheOperation }) {
      const life = ttlSeconds === undefined ? {} : { ttlSeconds }
      const sealing =
        continues === undefined
          ? client.seal({ ...bound, state, ...life, ...ofTheOperation })
          : client.seal({ ...bound, state, ...life, continues })
      try {
        return (await sealing).requestState
      } catch (error) {
        throw codeOf(error) === "rounds_exceeded" ? noRoundsLeft() : unusable(error)
      }
    },
    async open(bound, requestState) {
      try {
        return (await client.open({ ...bound, requestState })).state
      } catch (error) {
        if (error instanceof WaxsealError && error.reason !== undefined) throw new Error(error.reason)
        throw error
      }
    },
  }
}
