import type { AuthInfo } from "@modelcontextprotocol/server"
import type { Entrance } from "./exchange.ts"

/** What the SDK needs for its challenges. The access token itself goes no further than the door. */
export function authInfo({
  identity: { principal, scopes },
  metadata,
}: Pick<Entrance, "identity" | "metadata">): AuthInfo {
  return { token: "", clientId: principal, scopes: [...scopes], resourceMetadataUrl: metadata }
}
