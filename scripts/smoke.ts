// `npm run smoke -- URL`: looks from outside whether this version of the service answers there as it must. It needs no
// token and leaves nothing behind.
import { parseArgs } from "node:util"
import { z } from "zod"
import { CommandError, readFlags, readPositionals, runCommand } from "../src/cli/command.ts"
import { report } from "./deploy/report.ts"
import { smoke } from "./deploy/smoke.ts"

const USAGE = "npm run smoke -- https://waxseal.example.com"

await runCommand(async () => {
  const { positionals } = readFlags(USAGE, () => parseArgs({ allowPositionals: true }))
  const [given] = readPositionals(USAGE, positionals, z.tuple([z.string()]))
  const url = URL.parse(given)
  if (url === null || !/^https?:$/.test(url.protocol)) throw new CommandError(`Give an origin; use: ${USAGE}`)
  report(url.origin, await smoke(url.origin, 0))
})
