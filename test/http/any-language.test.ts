// The page that shows the API with curl alone, run as it stands: each block of sh must print the block of JSON after it.
import { execFile } from "node:child_process"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, it } from "vitest"
import { startApi } from "../support/api.ts"
import { ROOT } from "../support/bundle.ts"
import { codeBlocks } from "../support/code-blocks.ts"

/** In the page, whatever differs from run to run. */
const ANY = "…"
const END = "--- end of block ---"

it("the page of any language does what it says", async () => {
  const [setUp, ...steps] = codeBlocks(await readFile(join(ROOT, "examples/any-language.md"), "utf8"))
  const commands = steps.filter(({ language }) => language === "sh")
  const answers = steps.filter(({ language }) => language === "json")
  expect(commands).toHaveLength(8)
  const script = [setUp?.code, ...commands.map(({ code }) => `${code}\necho; echo '${END}'`)].join("\n")

  const api = await startApi()
  const env = { PATH: process.env["PATH"], WAXSEAL_URL: api.worker.url, WAXSEAL_TOKEN: await api.token() }
  const { stdout, stderr } = await promisify(execFile)("sh", ["-euc", script], { env })
  await api.stop()
  expect(stderr).toBe("")
  const printed = stdout
    .split(END)
    .slice(0, -1)
    .map((text) => JSON.parse(text))
  expect(printed).toEqual(
    answers.map(({ code }) => JSON.parse(code, (_, value) => (value === ANY ? expect.any(String) : value))),
  )
})
