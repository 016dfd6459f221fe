// What must be right before anything is deployed: settings, which stand where everyone may read them, and secrets, of
// which nothing but their names can be read.
import { randomBytes } from "node:crypto"
import { CommandError } from "../../src/cli/command.ts"
import { checkHost, readSettings } from "../../src/settings.ts"

const SECRETS = ["SEAL_KEYS", "LLM_API_KEY"]

/** Any host but localhost. */
const ELSEWHERE = new URL("https://elsewhere.invalid")

/**
 * The origin and the issuer of good settings.
 *
 * @throws a CommandError that names the first that is wrong and `file`, where it stands
 */
export function checkVars(vars: Readonly<Record<string, unknown>>, file: string): { origin: string; issuer: string } {
  for (const name of SECRETS) {
    if (name in vars) {
      throw new CommandError(
        `${file}, [vars]: ${name} is a secret; take it out, replace it, and set the new one by: npx wrangler secret put ${name}`,
      )
    }
  }
  const result = readSettings({ ...vars, SEAL_KEYS: standIn() })
  if (!result.ok) throw new CommandError(`${file}, [vars]: ${result.setting}: ${result.problem}`)
  const { settings } = result
  const problem = checkHost(settings, ELSEWHERE)
  const { publicUrl, auth } = settings
  if (problem !== undefined || publicUrl === undefined || auth.mode === "none") {
    throw new CommandError(`${file}, [vars]: ${problem}`)
  }
  return { origin: publicUrl.origin, issuer: auth.issuer }
}

/** For the ring, whose value is not to be had here. */
function standIn(): string {
  return JSON.stringify([{ key: randomBytes(32).toString("base64url"), sealsFrom: "2026-01-01T00:00:00Z" }])
}

/** @throws a CommandError that names the secrets that are missing */
export function checkSecrets(required: readonly string[], present: readonly string[]): void {
  const missing = required.filter((name) => !present.includes(name))
  if (missing.length === 0) return
  const how = missing.includes("SEAL_KEYS") ? "npx waxseal keygen | npx wrangler secret put SEAL_KEYS" : undefined
  throw new CommandError(
    `The Worker has no secret ${missing.join(", ")}; set it: ${how ?? `npx wrangler secret put ${missing[0]}`}`,
  )
}
