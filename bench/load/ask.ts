import { z } from "zod"
import { encode } from "../../test/support/mcp.ts"
import type { Target } from "./target.ts"

const Asked = z.object({
  result: z.object({
    resultType: z.literal("input_required"),
    inputRequests: z.object({ region: z.object({ method: z.literal("elicitation/create") }) }),
    requestState: z.string().min(1),
  }),
})

/** The first leg of `provision_database`: a question comes back, and state. */
export async function ask(target: Target): Promise<void> {
  await askFor("orders", target)
}

/** Asks for a database of that name, and gives the state. */
export async function askFor(name: string, { token, send }: Target): Promise<string> {
  const { headers, body } = encode({ token, method: "tools/call", name: "provision_database", arguments: { name } })
  const reply = await send("/mcp", headers, body)
  if (reply.status !== 200) throw new Error(`HTTP ${reply.status} in place of a question`)
  const asked = Asked.safeParse(JSON.parse(reply.body))
  if (!asked.success) throw new Error("the answer is not a question with state")
  return asked.data.result.requestState
}
