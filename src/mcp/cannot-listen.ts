import type { Connected } from "./changes/index.ts"
import { rpcError } from "./rpc-error.ts"

/** Why a client gets no stream of changes. */
export type ListenProblem = Extract<Connected, { ok: false }>["problem"] | "nothing_announced"

/** The answer to a client that wanted to listen and cannot. */
export function cannotListen(problem: ListenProblem, id: string | number | null): Response {
  switch (problem) {
    case "nothing_announced":
      return rpcError(501, -32_000, "This server announces no changes; read again instead.", {}, id)
    case "unreachable":
      return rpcError(503, -32_000, "Changes cannot be listened to now; try again soon.", { "Retry-After": "5" }, id)
    case "principal_full":
      return rpcError(429, -32_000, "You listen too often at a time; end one of your streams first.", {}, id)
    case "tenant_full":
      return rpcError(429, -32_000, "Too many clients of your organisation listen; try again later.", {}, id)
  }
}
