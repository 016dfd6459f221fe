// `npm run docs:numbers`: writes into the pages what bench/results.json says, after a run of the bench.
// With --check it writes nothing, and fails where a page says something else, or gives a number of unknown origin.
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, relative, resolve } from "node:path"
import { parseArgs } from "node:util"
import { readResults } from "../../bench/lib/figures.ts"
import { CommandError, readFlags, runCommand } from "../../src/cli/command.ts"
import { billTable, costsTable, shardsTable } from "./costs.ts"
import { figuresTable, filledIn, unmarked } from "./figures.ts"

const ROOT = resolve(import.meta.dirname, "../..")
const TABLES = { bill: billTable, costs: costsTable, shards: shardsTable, figures: figuresTable }

await runCommand(async () => {
  const { check } = readFlags(
    "npm run docs:numbers -- [--check]",
    () => parseArgs({ options: { check: { type: "boolean", default: false } } }).values,
  )
  const figures = await readResults()
  for (const file of pages()) {
    const page = readFileSync(file, "utf8")
    const name = relative(ROOT, file)
    const [number] = unmarked(page)
    if (number !== undefined) {
      throw new CommandError(
        `${name} says "${number}" and not where from; mark the figure, as scripts/docs/figures.ts says.`,
      )
    }
    const filled = filledIn(page, figures, TABLES)
    if (filled === page) continue
    if (check) throw new CommandError(`${name} says something else than bench/results.json; run: npm run docs:numbers`)
    writeFileSync(file, filled)
    console.log(`${name} is up to date now.`)
  }
})

/** Decisions are left out: each is the record of what was measured when it was taken. */
function pages(): string[] {
  const docs = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".md") && !/^(decisions|reference)\//.test(file))
    .map((file) => join("docs", file))
  return ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "bench/README.md", ...docs.sort()].map(
    (file) => join(ROOT, file),
  )
}
