// What must be right in a configuration before it is deployed: its settings, its bindings, and where it is reached.
import { randomBytes } from "node:crypto"
import { CommandError } from "../../src/cli/command.ts"
import { checkHost, readSettings } from "../../src/settings.ts"
import { checkBindings, checkLimits } from "./bindings.ts"
import type { Config } from "./config.ts"
import { checkReach } from "./reach.ts"
import { placeOf, type Target } from "./target.ts"

/** Any host but localhost. */
const ELSEWHERE = new URL("https://elsewhere.invalid")

/** What a good configuration says: where the Worker is, whom it trusts, and, a sentence each, what it goes without. */
interface Configured {
  readonly origin: string
  readonly issuer: string
  readonly notes: readonly string[]
}

/** @throws a CommandError that names the first that is wrong, where it stands, and what to write there */
export function checkConfig(config: Config, target: Target): Configured {
  const { origin, issuer } = checkVars(config.vars, target)
  checkReach(config, origin, target)
  const notes = checkBindings(config.bound, target)
  checkLimits(config.limits, target)
  return { origin, issuer, notes }
}

/**
 * The origin and the issuer of good settings.
 *
 * @throws a CommandError that names the first that is wrong, and where it stands
 */
export function checkVars(vars: Readonly<Record<string, unknown>>, target: Target): { origin: string; issuer: string } {
  const place = placeOf(target, "vars")
  const result = readSettings({ ...vars, SEAL_KEYS: standIn() })
  if (!result.ok) throw new CommandError(`${place}: ${result.setting}: ${result.problem}`)
  const { settings } = result
  const problem = checkHost(settings, ELSEWHERE)
  const { publicUrl, auth } = settings
  if (problem !== undefined || publicUrl === undefined || auth.mode === "none") {
    throw new CommandError(`${place}: ${problem}`)
  }
  return { origin: publicUrl.origin, issuer: auth.issuer }
}

/** For the ring, whose value is not to be had here. */
function standIn(): string {
  return JSON.stringify([{ key: randomBytes(32).toString("base64url"), sealsFrom: "2026-01-01T00:00:00Z" }])
}
