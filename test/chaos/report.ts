import type { History } from "./history.ts"
import { judge } from "./verdict.ts"

/** Prints what was seen in these histories and all that is wrong with them; gives how many are as they must be. */
export function report(histories: readonly History[]): { readonly passed: number; readonly failed: number } {
  const seen = histories.flatMap((history) => history.seen)
  const said = Map.groupBy(seen, ({ told }) => (told.says === "outcome" ? told.outcome : told.says))
  const counts = [...said].map(([what, those]) => `${what} ${those.length}`)
  console.log(`${histories.length} operations, ${seen.length} requests: ${counts.sort().join(", ")}.`)
  const wrong = histories.filter((history) => {
    const faults = judge(history)
    for (const fault of faults) console.log(`WRONG ${history.kind} ${history.name} ${fault}`)
    return faults.length > 0
  })
  return { passed: histories.length - wrong.length, failed: wrong.length }
}
