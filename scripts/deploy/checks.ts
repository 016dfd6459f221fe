// What must be right before anything is deployed: the configuration, which everyone may read, with its settings, and
// secrets, of which nothing but their names can be read.
import { randomBytes } from "node:crypto"
import { CommandError } from "../../src/cli/command.ts"
import { checkHost, readSettings } from "../../src/settings.ts"
import { checkBindings } from "./bindings.ts"
import type { Config } from "./config.ts"
import { checkReach } from "./reach.ts"
import { askedFlags, placeOf, type Target } from "./target.ts"

const SECRETS = ["SEAL_KEYS", "LLM_API_KEY"]

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
  return { origin, issuer, notes: checkBindings(config.bound, target) }
}

/**
 * The origin and the issuer of good settings.
 *
 * @throws a CommandError that names the first that is wrong, and where it stands
 */
export function checkVars(vars: Readonly<Record<string, unknown>>, target: Target): { origin: string; issuer: string } {
  const place = placeOf(target, "vars")
  for (const name of SECRETS) {
    if (name in vars) {
      throw new CommandError(
        `${place}: ${name} is a secret; take it out, never use it again, and ${howToSet(name, target)}`,
      )
    }
  }
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

/** @throws a CommandError that names the first secret that is missing, and how it is set */
export function checkSecrets(required: readonly string[], present: readonly string[], target: Target): void {
  const missing = required.find((name) => !present.includes(name))
  if (missing === undefined) return
  throw new CommandError(`The Worker has no secret ${missing}; ${howToSet(missing, target)}`)
}

/** Cloudflare gives no secret back: a ring that was piped there could never be rotated. */
function howToSet(name: string, target: Target): string {
  const put = `npx wrangler secret put ${name}${askedFlags(target)}`
  if (name !== "SEAL_KEYS") return `set its value by: ${put}`
  return `make a ring by npm run -s waxseal -- keygen --out ring.json, keep that file in a vault, and set it by: ${put} < ring.json`
}
