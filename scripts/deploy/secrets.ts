// Secrets, of which nothing but their names can be read, and which everyone could read in a configuration.
import { CommandError } from "../../src/cli/command.ts"
import { askedFlags, placeOf, type Target } from "./target.ts"

const SECRETS = ["SEAL_KEYS", "LLM_API_KEY"]

/** @throws a CommandError that names the first secret among the settings of a file, and where it belongs instead */
export function refuseSecrets(vars: Readonly<Record<string, unknown>>, target: Target): void {
  const name = SECRETS.find((secret) => secret in vars)
  if (name === undefined) return
  throw new CommandError(
    `${placeOf(target, "vars")}: ${name} is a secret; take it out, never use it again, and ${howToSet(name, target)}`,
  )
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
