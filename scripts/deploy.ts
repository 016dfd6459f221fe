// `npm run deploy`: checks the configuration and its secrets, deploys by wrangler, and looks from outside whether it is
// up.
import { randomUUID } from "node:crypto"
import { parseArgs } from "node:util"
import { readFlags, runCommand } from "../src/cli/command.ts"
import { checkConfig } from "./deploy/checks.ts"
import { readConfig } from "./deploy/config.ts"
import { report } from "./deploy/report.ts"
import { checkSecrets } from "./deploy/secrets.ts"
import { smoke } from "./deploy/smoke.ts"
import { askedFlags, type Target, targetOf } from "./deploy/target.ts"
import { deploy, requireAccount, secretNames } from "./deploy/wrangler.ts"

const USAGE = "npm run deploy [-- --dry-run] [--config wrangler.toml] [--env NAME]"

/** A new version reaches every place of the network within this time, and a new name its resolvers. */
const PATIENCE_MS = 60_000

await runCommand(async () => {
  const { "dry-run": dryRun, config: file, env } = readFlags(USAGE, parseFlags).values
  const target = targetOf(file, env ?? process.env["CLOUDFLARE_ENV"])
  const config = await readConfig(target)
  const { origin, issuer, notes } = checkConfig(config, target)
  for (const note of notes) console.log(`note  ${note}`)
  const deployment = randomUUID()
  if (dryRun) {
    deploy(target, deployment, ["--dry-run"])
    console.log(`\nNothing was deployed, and no secret was looked for. Next: ${again(target)}`)
    return
  }
  requireAccount()
  checkSecrets(config.requiredSecrets, secretNames(target), target)
  deploy(target, deployment)
  console.log(`\nLooking at ${origin} from outside ...`)
  report(origin, await smoke(origin, PATIENCE_MS, deployment))
  console.log(`\nIt is up. Next: let a client with an access token of ${issuer} call ${origin}/mcp`)
})

function parseFlags() {
  return parseArgs({
    options: {
      "dry-run": { type: "boolean", default: false },
      config: { type: "string" },
      env: { type: "string" },
    },
  })
}

function again(target: Target): string {
  const flags = askedFlags(target)
  return flags === "" ? "npm run deploy" : `npm run deploy --${flags}`
}
