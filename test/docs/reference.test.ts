// The API reference: what is exported is documented, no link of it is broken, and either would be noticed.
import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, it } from "vitest"
import { z } from "zod"
import { ROOT } from "../support/bundle.ts"

const FOLDER = join(ROOT, "docs/reference")

/** What TypeDoc has to say, and whether it is content. It leaves types to the compiler's own run. */
async function check(...more: readonly string[]): Promise<{ readonly good: boolean; readonly said: string }> {
  const args = [join(FOLDER, "node_modules/typedoc/bin/typedoc"), "--skipErrorChecking", ...more]
  const run = promisify(execFile)(process.execPath, args, { cwd: FOLDER, env: { ...process.env, NO_COLOR: "1" } })
  return run.then(
    ({ stdout }) => ({ good: true, said: stdout }),
    ({ stderr, stdout }) => ({ good: false, said: `${stdout}${stderr}` }),
  )
}

const FUNCTION = 64

/** What TypeDoc writes of an export; a function says what it is for in its signatures. */
const Export = z.object({
  name: z.string(),
  kind: z.number(),
  signatures: z
    .array(z.object({ comment: z.object({ blockTags: z.array(z.object({ tag: z.string() })).default([]) }) }))
    .default([]),
})
const Reference = z.object({ children: z.array(z.object({ children: z.array(Export) })) })

function withoutExample(reference: z.infer<typeof Reference>): string[] {
  return reference.children
    .flatMap(({ children }) => children)
    .filter(({ kind }) => kind === FUNCTION)
    .filter(({ signatures }) => !signatures[0]?.comment.blockTags.some(({ tag }) => tag === "@example"))
    .map(({ name }) => name)
}

it("every public export is documented, every function shows an example, and no link is broken", async () => {
  const folder = await mkdtemp(join(tmpdir(), "waxseal-reference-"))
  const file = join(folder, "reference.json")
  expect(await check("--json", file)).toMatchObject({ good: true })
  const reference = Reference.parse(JSON.parse(await readFile(file, "utf8")))
  expect(reference.children.map(({ children }) => children.length > 5)).toEqual([true, true, true, true])
  expect(withoutExample(reference)).toEqual([])
  await rm(folder, { recursive: true })
})

it("an export without a word and a link to nothing are noticed", async () => {
  const { good, said } = await check("--emit", "none", "--options", join(ROOT, "test/fixtures/docs/typedoc.json"))
  expect(good).toBe(false)
  expect(said).toContain("says_nothing (Variable)")
  expect(said).toContain("Nowhere")
})
