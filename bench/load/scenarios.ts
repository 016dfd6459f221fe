import { z } from "zod"
import { apiCall } from "./api.ts"
import { ask } from "./ask.ts"
import { flow } from "./flow.ts"
import { ledgerCall } from "./ledger.ts"
import type { Operation } from "./target.ts"

/** All kinds of load. */
export const ScenarioName = z.enum(["ask", "flow", "api", "insert", "spend", "spend-spread", "claim-few", "claim-many"])

export const scenarios: Readonly<Record<z.infer<typeof ScenarioName>, Operation>> = {
  ask,
  flow,
  api: apiCall,
  insert: ledgerCall("inserted", () => "/insert/one"),
  spend: ledgerCall("settled", () => "/spend/one"),
  "spend-spread": ledgerCall("settled", () => `/spend/shard-${Math.floor(Math.random() * 16)}`),
  "claim-few": ledgerCall("claimed", () => "/claim/few"),
  "claim-many": ledgerCall("claimed", () => "/claim/many"),
}
