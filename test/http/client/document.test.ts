// The page of the client: what it shows has the types of what there is.
import { execFile } from "node:child_process"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, it } from "vitest"
import { ROOT } from "../../support/bundle.ts"
import { codeBlocks } from "../../support/code-blocks.ts"

const FOLDER = join(ROOT, "dist/document")

/** What a reader's own program has. */
const SURROUNDINGS = `
import type { AuthInfo } from "@modelcontextprotocol/server"
declare function accessToken(): Promise<string>
declare function bill(key: string, options: { signal: AbortSignal }): Promise<{ outOfStock: boolean; invoice: string }>
declare function createProject(name: string): Promise<void>
declare const request: Request
declare const authInfo: AuthInfo
declare const settings: { readonly SEAL_KEYS: string }
`

const CONFIG = {
  extends: "../../tsconfig.node.json",
  compilerOptions: {
    noUnusedLocals: false,
    paths: {
      "waxseal/client": ["../../src/client/index.ts"],
      "waxseal/codec": ["../../src/client/codec.ts"],
    },
  },
  include: ["page.ts"],
}

/** The compiler's words; none where it has nothing to say. */
async function compile(page: string): Promise<string> {
  await mkdir(FOLDER, { recursive: true })
  await writeFile(join(FOLDER, "tsconfig.json"), JSON.stringify(CONFIG))
  await writeFile(join(FOLDER, "page.ts"), page)
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc")
  const { stdout } = await promisify(execFile)(process.execPath, [tsc, "-p", FOLDER]).catch((error) => error)
  return stdout
}

it("compiles", async () => {
  const blocks = codeBlocks(await readFile(join(ROOT, "docs/client.md"), "utf8")).filter(
    ({ language }) => language === "ts",
  )
  expect(blocks.length).toBeGreaterThan(4)
  const page = [SURROUNDINGS, ...blocks.map(({ code }) => code)].join("\n")
  expect(await compile(page)).toBe("")
  expect(await compile(page.replace("ttlSeconds: 300", 'ttlSeconds: "300"'))).toContain(
    "is not assignable to type 'number'",
  )
})
