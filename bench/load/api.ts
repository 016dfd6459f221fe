import { z } from "zod"
import type { Target } from "./target.ts"

/** One call of the sealing API, as it is sent, and what every good answer to it has in it. */
export const ApiCall = z.object({ path: z.string(), body: z.string(), expects: z.string() })

export async function apiCall({ token, send, call }: Target): Promise<void> {
  if (!call) throw new Error("the job names no call")
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
  const reply = await send(call.path, headers, call.body)
  if (reply.status !== 200 || !reply.body.includes(call.expects)) throw new Error(`HTTP ${reply.status}: wrong answer`)
}
