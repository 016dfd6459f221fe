import { z } from "zod"
import { ApiCall } from "./api.ts"
import { ScenarioName } from "./scenarios.ts"

/** What the bench asks of the load generator: one round. */
export const Job = z.object({
  scenario: ScenarioName,
  /** The server, without a path. */
  url: z.url(),
  token: z.string(),
  /** For the scenario `api`. */
  call: ApiCall.exactOptional(),
  /** So many connections, each kept alive and with one operation at a time. */
  connections: z.int().positive(),
  seconds: z.number().positive(),
})

export type Job = Readonly<z.infer<typeof Job>>

/** What the load generator answers. */
export const Outcome = z.union([
  z.object({ operations: z.number(), seconds: z.number() }),
  z.object({ problem: z.string() }),
])

export type Outcome = Readonly<z.infer<typeof Outcome>>
