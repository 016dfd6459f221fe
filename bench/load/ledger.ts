import type { Operation } from "./target.ts"

/** One call on the ledger's fixture, whose path says what is done; it must answer with the one word. */
export function ledgerCall(word: string, path: () => string): Operation {
  return async ({ send }) => {
    const reply = await send(path(), {}, "")
    if (reply.status !== 200 || reply.body !== word) throw new Error(`HTTP ${reply.status} in place of "${word}"`)
  }
}
