/** A JSON-RPC error as a whole answer: for requests that do not reach the SDK. */
export function rpcError(
  status: number,
  code: number,
  message: string,
  headers: Record<string, string> = {},
  id: string | number | null = null,
): Response {
  return Response.json({ jsonrpc: "2.0", error: { code, message }, id }, { status, headers })
}
