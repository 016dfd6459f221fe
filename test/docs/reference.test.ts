// The API reference: what is exported is documented, no link of it is broken, and either would be noticed.
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, it } from "vitest"
import { ROOT } from "../support/bundle.ts"

const FOLDER = join(ROOT, "docs/reference")

/** What TypeDoc has to say, and whether it is content. It writes nothing, and leaves types to the compiler's own run. */
async function check(...more: readonly string[]): Promise<{ readonly good: boolean; readonly said: string }> {
  const args = [join(FOLDER, "node_modules/typedoc/bin/typedoc"), "--emit", "none", "--skipErrorChecking", ...more]
  const run = promisify(execFile)(process.execPath, args, { cwd: FOLDER, env: { ...process.env, NO_COLOR: "1" } })
  return run.then(
    ({ stdout }) => ({ good: true, said: stdout }),
    ({ stderr, stdout }) => ({ good: false, said: `${stdout}${stderr}` }),
  )
}

it("every public export is documented, and no link is broken", async () => {
  expect(await check()).toMatchObject({ good: true })
})

it("an export without a word and a link to nothing are noticed", async () => {
  const { good, said } = await check("--options", join(ROOT, "test/fixtures/docs/typedoc.json"))
  expect(good).toBe(false)
  expect(said).toContain("says_nothing (Variable)")
  expect(said).toContain("Nowhere")
})
