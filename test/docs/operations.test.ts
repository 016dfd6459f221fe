// docs/operations.md: the first deployment, as far as it goes without an account, and the Worker that it would deploy.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { unstable_readConfig } from "wrangler"
import { z } from "zod"
import { startWorker } from "../support/workerd.ts"
import { newcomer } from "./newcomer.ts"
import { blocksOf, codeOf, expectPrinted, readPage } from "./page.ts"

/** `deleteAll()` takes an object's alarm along from then on. */
const EARLIEST_DATE = "2026-02-24"

const Config = z.object({ vars: z.record(z.string(), z.string()), compatibility_date: z.string() })

it("a newcomer prepares the first deployment", { timeout: 120_000 }, async () => {
  const someone = newcomer("a copy")
  const blocks = blocksOf("docs/operations.md", "The first deployment")
  const [makeKeys = "", dryRun = ""] = codeOf(blocks, "sh", 2)
  const [listed = "", uploaded = ""] = codeOf(blocks, "text", 2)
  const [top = "", end = ""] = codeOf(blocks, "toml", 2)

  expectPrinted(await someone.sh(makeKeys), listed)

  const file = join(someone.folder, "wrangler.toml")
  const before = await readFile(file, "utf8")
  expect(before).toContain("workers_dev = true\n")
  await writeFile(file, `${before.replace("workers_dev = true\n", top)}\n${end}`)
  expectPrinted(await someone.sh(dryRun), uploaded)

  const { vars, compatibility_date } = Config.parse(unstable_readConfig({ config: file }))
  expect(compatibility_date >= EARLIEST_DATE).toBe(true)
  const SEAL_KEYS = await readFile(join(someone.folder, "ring.json"), "utf8")
  const storage = await mkdtemp(join(tmpdir(), "waxseal-"))
  const worker = await startWorker({ bindings: { ...vars, SEAL_KEYS }, storage })
  const get = async (path: string) => (await fetch(`${worker.url}${path}`)).json()
  expect(await get("/healthz")).toMatchObject({ status: "ok" })
  expect(await get("/.well-known/oauth-protected-resource/mcp")).toMatchObject({
    resource: "https://waxseal.example.com/mcp",
    authorization_servers: ["https://id.example.com/"],
  })
  await worker.stop()
  await rm(storage, { recursive: true })
  someone.leave()
})

it("a Worker of one's own runs on a date from which an object's alarm goes with all else", async () => {
  const example = unstable_readConfig({ config: join(import.meta.dirname, "../../examples/own-worker/wrangler.toml") })
  expect((example.compatibility_date ?? "") >= EARLIEST_DATE).toBe(true)
})

it("an upgrade takes the new version, and what it was tested with, before it deploys", () => {
  const [, section = ""] = readPage("docs/operations.md").split("## Upgrade, and go back\n")
  const [, block = ""] = section.split("```")
  expect(block.match(/^(?:git|npm) \w+/gm)).toEqual(["git fetch", "git diff", "git pull", "npm ci", "npm run"])
})
