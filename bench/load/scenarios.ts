import { apiCall } from "./api.ts"
import { ask } from "./ask.ts"
import { flow } from "./flow.ts"
import type { Job } from "./job.ts"
import { ledgerCall } from "./ledger.ts"
import type { Operation } from "./target.ts"

export const scenarios: Readonly<Record<Job["scenario"], Operation>> = {
  ask,
  flow,
  api: apiCall,
  insert: ledgerCall("inserted", () => "/insert/one"),
  spend: ledgerCall("settled", () => "/spend/one"),
  "spend-spread": ledgerCall("settled", () => `/spend/shard-${Math.floor(Math.random() * 16)}`),
  "claim-few": ledgerCall("claimed", () => "/claim/few"),
  "claim-many": ledgerCall("claimed", () => "/claim/many"),
}
