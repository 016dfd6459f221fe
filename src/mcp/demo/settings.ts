import { env } from "cloudflare:workers"
import { type DemoSettings, settingsOf } from "../../settings.ts"

/** What the demonstration tools go by, as it is now: it may change while a dialogue is open. */
export function demoSettings(): DemoSettings {
  const result = settingsOf(env)
  if (!result.ok) throw new Error("The Worker is not configured, and its door let a request pass.")
  return result.settings.demo
}
