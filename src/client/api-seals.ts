import type { Client } from "./client.ts"
import { WaxsealError } from "./errors.ts"
import type { Seals } from "./seals.ts"

/** Seals over the API. */
export function apiSeals(client: Client): Seals {
  return {
    async seal(bound, state, { continues, ttlSeconds, ...ofTheOperation }) {
      const life = ttlSeconds === undefined ? {} : { ttlSeconds }
      const sealed =
        continues === undefined
          ? await client.seal({ ...bound, state, ...life, ...ofTheOperation })
          : await client.seal({ ...bound, state, ...life, continues })
      return sealed.requestState
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
