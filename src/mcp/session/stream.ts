import type { OpenSession } from "./sessions.ts"

/** The stream of a session that a GET asks for (2025-11-25 basic/transports, Listening for Messages from the Server). */
export function openStream(_session: OpenSession): Promise<Response> {
  const error = { code: -32_000, message: "There is no stream here; send requests by POST." }
  const headers = { Allow: "POST, DELETE" }
  return Promise.resolve(Response.json({ jsonrpc: "2.0", error, id: null }, { status: 405, headers }))
}
