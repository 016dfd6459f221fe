import { env } from "cloudflare:workers"
import { jurisdictionsOf } from "../../auth/index.ts"
import type { TenantId } from "../../brands.ts"
import { type DemoSettings, type Jurisdiction, type Settings, settingsOf } from "../../settings.ts"

/** What the demonstration tools go by, as it is now: it may change while a dialogue is open. */
export function demoSettings(): DemoSettings {
  return settings().demo
}

/** Where a tenant's inventory must stay, if anywhere. */
export function jurisdictionOf(tenant: TenantId): Jurisdiction | undefined {
  return jurisdictionsOf(settings()).get(tenant)
}

function settings(): Settings {
  const result = settingsOf(env)
  if (!result.ok) throw new Error("The Worker is not configured, and its door let a request pass.")
  return result.settings
}
