import type { Figure } from "./lib/figures.ts"
import { type Effort, toolRatio } from "./mcp.ts"

/** The runtime of operations: asking alone, and a whole flow of two legs whose effect is one write in one object. */
export async function operation(effort: Effort): Promise<Figure[]> {
  return [
    await toolRatio("operation.ask.ratio", "ask", "requests/s", effort),
    await toolRatio("operation.flow.ratio", "flow", "flows/s", effort, { LEDGER_SHARDS: "1" }),
    await toolRatio("operation.flow.ratio:16-shards", "flow", "flows/s", effort),
  ]
}
