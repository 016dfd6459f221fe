// `npm run deploy`: checks settings and secrets, deploys by wrangler, and looks from outside whether it is up.
import { relative, resolve } from "node:path"
import { parseArgs } from "node:util"
import { z } from "zod"
import { CommandError, readFlags, runCommand } from "../src/cli/command.ts"
import { checkSecrets, checkVars } from "./deploy/checks.ts"
import { report } from "./deploy/report.ts"
import { smoke } from "./deploy/smoke.ts"
import { deploy, requireAccount, secretNames } from "./deploy/wrangler.ts"
import { ROOT } from "./local.ts"

const USAGE = "npm run deploy [-- --dry-run] [--config wrangler.toml] [--env NAME]"

const Config = z.object({
  vars: z.record(z.string(), z.unknown()),
  secrets: z.object({ required: z.array(z.string()) }),
})

await runCommand(async () => {
  const { "dry-run": dryRun, config: file, env } = readFlags(USAGE, parseFlags).values
  const path = resolve(ROOT, file)
  const where = ["--config", path, ...(env === undefined ? [] : ["--env", env])]
  const { vars, secrets } = await readConfig(path, env)
  const { origin, issuer } = checkVars(vars, relative(ROOT, path))
  if (dryRun) {
    deploy([...where, "--dry-run"])
    console.log("\nNothing was deployed, and no secret was looked for. Next: npm run deploy")
    return
  }
  requireAccount()
  checkSecrets(secrets.required, secretNames(where))
  deploy(where)
  console.log(`\nLooking at ${origin} from outside ...`)
  report(origin, await smoke(origin))
  console.log(`\nIt is up. Next: let a client with an access token of ${issuer} call ${origin}/mcp`)
})

function parseFlags() {
  return parseArgs({
    options: {
      "dry-run": { type: "boolean", default: false },
      config: { type: "string", default: "wrangler.toml" },
      env: { type: "string" },
    },
  })
}

async function readConfig(path: string, env: string | undefined): Promise<z.infer<typeof Config>> {
  const { unstable_readConfig } = await import("wrangler")
  try {
    return Config.parse(unstable_readConfig({ config: path, env }))
  } catch {
    throw new CommandError(`${path} is no configuration that can be deployed; see: npx wrangler deploy --dry-run`)
  }
}
