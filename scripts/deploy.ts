// `npm run deploy`: checks settings and secrets, deploys by wrangler, and looks from outside whether it is up.
import { parseArgs } from "node:util"
import { z } from "zod"
import { CommandError, readFlags, runCommand } from "../src/cli/command.ts"
import { checkSecrets, checkVars } from "./deploy/checks.ts"
import { report } from "./deploy/report.ts"
import { smoke } from "./deploy/smoke.ts"
import { askedFlags, type Target, targetOf } from "./deploy/target.ts"
import { deploy, requireAccount, secretNames } from "./deploy/wrangler.ts"

const USAGE = "npm run deploy [-- --dry-run] [--config wrangler.toml] [--env NAME]"

const Config = z.object({
  vars: z.record(z.string(), z.unknown()),
  secrets: z.object({ required: z.array(z.string()) }),
})

await runCommand(async () => {
  const { "dry-run": dryRun, config, env } = readFlags(USAGE, parseFlags).values
  const target = targetOf(config, env ?? process.env["CLOUDFLARE_ENV"])
  const { vars, secrets } = await readConfig(target)
  const { origin, issuer } = checkVars(vars, target)
  if (dryRun) {
    deploy(target, ["--dry-run"])
    console.log(`\nNothing was deployed, and no secret was looked for. Next: ${again(target)}`)
    return
  }
  requireAccount()
  checkSecrets(secrets.required, secretNames(target), target)
  deploy(target)
  console.log(`\nLooking at ${origin} from outside ...`)
  report(origin, await smoke(origin))
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

async function readConfig(target: Target): Promise<z.infer<typeof Config>> {
  const { unstable_readConfig } = await import("wrangler")
  try {
    return Config.parse(unstable_readConfig({ config: target.path, env: target.env ?? "" }))
  } catch {
    const look = `npx wrangler deploy --dry-run${askedFlags(target)}`
    throw new CommandError(`${target.file} is no configuration that can be deployed; see: ${look}`)
  }
}

function again(target: Target): string {
  const flags = askedFlags(target)
  return flags === "" ? "npm run deploy" : `npm run deploy --${flags}`
}
