import { z } from "zod"
import { ask } from "./ask.ts"
import { ledgerCall } from "./ledger.ts"

export interface Reply {
  readonly status: number
  readonly body: string
}

export interface Target {
  readonly token: string
  /** Sends a POST to a path of the server under load. */
  send(path: string, headers: Readonly<Record<string, string>>, body: string): Promise<Reply>
}

/** One unit of work. It checks each answer, and throws at the first that is not what it must be. */
export type Operation = (target: Target) => Promise<void>

/** All kinds of load. */
export const ScenarioName = z.enum(["ask", "insert", "spend", "spend-spread", "claim-few", "claim-many"])

export const scenarios: Readonly<Record<z.infer<typeof ScenarioName>, Operation>> = {
  ask,
  insert: ledgerCall("inserted", () => "/insert/one"),
  spend: ledgerCall("settled", () => "/spend/one"),
  "spend-spread": ledgerCall("settled", () => `/spend/shard-${Math.floor(Math.random() * 16)}`),
  "claim-few": ledgerCall("claimed", () => "/claim/few"),
  "claim-many": ledgerCall("claimed", () => "/claim/many"),
}
