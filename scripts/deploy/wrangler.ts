import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { z } from "zod"
import { CommandError } from "../../src/cli/command.ts"
import { ROOT } from "../local.ts"
import { askedFlags, flagsOf, type Target } from "./target.ts"

const WRANGLER = join(ROOT, "node_modules/wrangler/bin/wrangler.js")

const Account = z.object({ loggedIn: z.boolean() })

/** @throws a CommandError that says how one logs in */
export function requireAccount(): void {
  const { stdout } = ask(["whoami", "--json"])
  const account = Account.safeParse(parse(stdout))
  if (account.success && account.data.loggedIn) return
  throw new CommandError(
    "There is no Cloudflare account to deploy to; log in by npx wrangler login, or set CLOUDFLARE_API_TOKEN.",
  )
}

const Secrets = z.array(z.object({ name: z.string() }))
/** The API's code for a Worker that was never deployed and has no secret yet. */
const NO_SUCH_WORKER = "10007"

/** What wrangler says where it would ask a person which account is meant. */
const MANY_ACCOUNTS = "More than one account available"

/**
 * The names of the Worker's secrets.
 *
 * @throws a CommandError where several accounts can be reached and none is chosen, or the secrets cannot be listed
 */
export function secretNames(target: Target): readonly string[] {
  const { status, stdout, stderr } = ask(["secret", "list", ...flagsOf(target)])
  const secrets = Secrets.safeParse(parse(stdout))
  if (status === 0 && secrets.success) return secrets.data.map(({ name }) => name)
  const said = `${stdout}${stderr}`
  if (said.includes(NO_SUCH_WORKER)) return []
  if (said.includes(MANY_ACCOUNTS)) {
    throw new CommandError(
      `Several Cloudflare accounts can be reached; write account_id = "…" at the top of ${target.file}, or set CLOUDFLARE_ACCOUNT_ID, with an id that npx wrangler whoami lists.`,
    )
  }
  throw new CommandError(`The Worker's secrets cannot be listed; see: npx wrangler secret list${askedFlags(target)}`)
}

/** Deploys, in wrangler's own words, a Worker that gives this name as its deployment's at /healthz. */
export function deploy(target: Target, deployment: string, more: readonly string[] = []): void {
  const stamp = ["--var", `WAXSEAL_DEPLOYMENT:${deployment}`]
  const args = ["deploy", "--minify", ...flagsOf(target), ...stamp, ...more]
  const { status } = spawnSync(process.execPath, [WRANGLER, ...args], { cwd: ROOT, stdio: "inherit" })
  if (status !== 0) throw new CommandError("wrangler did not deploy; see above.")
}

function ask(args: readonly string[]) {
  return spawnSync(process.execPath, [WRANGLER, ...args], { cwd: ROOT, encoding: "utf8" })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
