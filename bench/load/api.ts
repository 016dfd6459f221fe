import type { Target } from "./target.ts"

export async function apiCall({ token, send, call }: Target): Promise<void> {
  if (!call) throw new Error("the job names no call")
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
  const reply = await send(call.path, headers, call.body)
  if (reply.status !== 200 || !reply.body.includes(call.expects)) throw new Error(`HTTP ${reply.status}: wrong answer`)
}
