import { z } from "zod"

/** All kinds of load. */
const ScenarioName = z.enum(["ask", "flow", "api", "insert", "spend", "spend-spread", "claim-few", "claim-many"])

/** One call of the sealing API, as it is sent, and what every good answer to it has in it. */
const ApiCall = z.object({ path: z.string(), body: z.string(), expects: z.string() })

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
