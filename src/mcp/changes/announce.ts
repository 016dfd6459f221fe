import { env, waitUntil } from "cloudflare:workers"
import { jurisdictionsOf } from "../../auth/index.ts"
import type { TenantId } from "../../brands.ts"
import { settingsOf } from "../../settings.ts"
import type { Change } from "./change.ts"
import { createChangesClient } from "./client.ts"

/** Says what has changed for the clients of one tenant. No verb waits, fails or stores anything. */
export interface Announcer {
  /** A resource reads differently now: for those who subscribed to exactly this URI. */
  resourceUpdated(uri: string): void
  /** The list of resources changed; of use where the server declares the capability `listChanged`. */
  resourcesChanged(): void
  /** The list of tools changed, likewise. */
  toolsChanged(): void
  /** The list of prompts changed, likewise. */
  promptsChanged(): void
}

/**
 * Announces changes to whoever of a tenant listens at this moment, at any isolate. Best effort: what is lost on its way
 * is lost, so nothing may depend on it. Without the binding `CHANGES` nothing is announced.
 *
 * @example announce(op.caller.tenant).resourceUpdated("orders://open")
 */
export function announce(tenant: TenantId): Announcer {
  const tell = (change: Change) => waitUntil(publish(tenant, change))
  return {
    resourceUpdated: (uri) => tell({ kind: "resource_updated", uri }),
    resourcesChanged: () => tell({ kind: "resources_list_changed" }),
    toolsChanged: () => tell({ kind: "tools_list_changed" }),
    promptsChanged: () => tell({ kind: "prompts_list_changed" }),
  }
}

async function publish(tenant: TenantId, change: Change): Promise<void> {
  const result = settingsOf(env)
  if (!env.CHANGES || !result.ok) return
  const jurisdictions = jurisdictionsOf(result.settings)
  await createChangesClient({ namespace: env.CHANGES, jurisdictions }).publish(tenant, change)
}
