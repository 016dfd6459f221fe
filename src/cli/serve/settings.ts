import { checkHost, checkRing, readSettings, type Settings } from "../../settings.ts"
import { CommandError } from "../command.ts"

/**
 * Settings that are good for a server on one machine that is called at this URL, now.
 *
 * @throws a CommandError that names the setting, and never its value
 */
export function goodSettings(values: object, url: URL): Settings {
  const result = readSettings(values)
  if (!result.ok) throw new CommandError(`${result.setting}: ${result.problem}`)
  if (result.settings.jurisdictions.size > 0) {
    throw new CommandError("JURISDICTIONS: cannot be kept on one machine; remove it here, it is for Cloudflare.")
  }
  const problem = checkHost(result.settings, url) ?? checkRing(result.settings, Date.now())
  if (problem !== undefined) throw new CommandError(problem)
  return result.settings
}
