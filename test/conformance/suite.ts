import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdir, open, readdir, readFile, rm } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Checks } from "./verdict.ts"

const SUITE = import.meta.resolve("@modelcontextprotocol/conformance/dist/index.js")

/** A whole run takes seconds; a server that answers nothing must not hold it for ever. */
const PATIENCE_MILLISECONDS = 180_000

/** The scenarios that a revision requires of a server, frozen when the revision was released. */
export async function requiredScenarios(revision: string): Promise<string[]> {
  const text = await readFile(new URL(`../requirements/${revision}.yaml`, SUITE), "utf8")
  const list = /^server:\n((?: {2}- \S+\n)+)\nclient:$/m.exec(text)?.[1]
  if (list === undefined) {
    throw new Error(`The suite's requirements for ${revision} are not written as they used to be.`)
  }
  return list.trim().split(/\s*- /).slice(1)
}

/**
 * Runs every scenario of a revision against a server, required or not, and gives the checks of each that wrote any. The
 * suite's own exit code says nothing here: it forgives warnings.
 *
 * @param url the MCP endpoint
 * @param folder for what the suite writes; emptied first
 */
export async function examine(url: string, revision: string, folder: string): Promise<ReadonlyMap<string, Checks>> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await using log = await open(join(folder, "suite.log"), "w")
  const suite = spawn(
    process.execPath,
    [fileURLToPath(SUITE), "server", "--url", url, "--requirements", revision, "--output-dir", folder],
    { stdio: ["ignore", log.fd, log.fd], timeout: PATIENCE_MILLISECONDS },
  )
  await once(suite, "close")
  return readChecks(folder)
}

/** The suite names a scenario's folder `server-<scenario>-<time>`. */
async function readChecks(folder: string): Promise<ReadonlyMap<string, Checks>> {
  const found = new Map<string, Checks>()
  for (const entry of await readdir(folder)) {
    const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(entry)?.[1]
    if (scenario === undefined) continue
    const text = await readFile(join(folder, entry, "checks.json"), "utf8").catch(() => undefined)
    if (text !== undefined) found.set(scenario, Checks.parse(JSON.parse(text)))
  }
  return found
}
