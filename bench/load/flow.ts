import { z } from "zod"
import { encode } from "../../test/support/mcp.ts"
import { askFor } from "./ask.ts"
import type { Target } from "./target.ts"

const Completed = z.object({
  result: z.object({ structuredContent: z.object({ status: z.literal("completed"), database: z.object({}) }) }),
})

const inputResponses = { region: { action: "accept", content: { region: "eu-west-1" } } }

/** A whole flow: the question, and the answer that creates one database more. */
export async function flow(target: Target): Promise<void> {
  const name = crypto.randomUUID()
  const requestState = await askFor(name, target)
  const request = { token: target.token, method: "tools/call", name: "provision_database", arguments: { name } }
  const { headers, body } = encode({ ...request, requestState, inputResponses })
  const reply = await target.send("/mcp", headers, body)
  if (reply.status !== 200) throw new Error(`HTTP ${reply.status} in place of a database`)
  if (!Completed.safeParse(JSON.parse(reply.body)).success) throw new Error("the answer is not a database")
}
