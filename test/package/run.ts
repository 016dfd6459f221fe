// `npm run test:package`: packs the library, installs it where nothing else of this project is, and uses it there.
// Needs the registry. Last line `N passed, M failed`.
import { execFileSync } from "node:child_process"
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ROOT } from "../support/bundle.ts"
import { entries } from "./entries.ts"
import { nodeServer } from "./node-server.ts"
import { ownWorker } from "./own-worker.ts"
import { serve } from "./serve.ts"

/** One thing that an installed package must be good for; throws where it is not. */
export type Step = readonly [what: string, run: (folder: string, archive: string) => Promise<void> | void]

const STEPS: readonly Step[] = [...entries, ...serve, ...ownWorker, ...nodeServer]

const folder = mkdtempSync(join(tmpdir(), "waxseal-package-"))
let passed = 0
let failed = 0
try {
  execFileSync("npm", ["pack", "--pack-destination", folder], { cwd: ROOT, stdio: ["ignore", "ignore", "inherit"] })
  const archive = join(folder, readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? "")
  cpSync(join(ROOT, "examples"), join(folder, "examples"), { recursive: true })
  for (const [what, run] of STEPS) {
    try {
      await run(folder, archive)
      passed += 1
      console.log(`passed  ${what}`)
    } catch (error) {
      failed += 1
      console.log(`FAILED  ${what}\n${error instanceof Error ? error.message : String(error)}`)
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
