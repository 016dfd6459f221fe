import { parseArgs } from "node:util"
import { api } from "./api.ts"
import { ledger } from "./ledger.ts"
import { type Figure, mergeIntoResults, printTable } from "./lib/figures.ts"
import { type Effort, mcp } from "./mcp.ts"
import { operation } from "./operation.ts"
import { seal } from "./seal.ts"

const EFFORT: Effort = { pairs: 40, seconds: 0.5 }

const groups: Readonly<Record<string, (effort: Effort) => Promise<Figure[]>>> = {
  seal,
  ledger,
  operation,
  api,
  mcp,
}

const { values } = parseArgs({ options: { only: { type: "string" } } })
const chosen = values.only === undefined ? Object.keys(groups) : [values.only]
for (const name of chosen) {
  const group = groups[name]
  if (group === undefined) {
    console.error(`There are no figures called ${name}; choose one of ${Object.keys(groups).join(", ")}.`)
    process.exit(1)
  }
  const figures = await group(EFFORT)
  printTable(figures)
  await mergeIntoResults(figures)
}
