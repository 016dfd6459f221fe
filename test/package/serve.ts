// `npx waxseal serve` in an empty project: the server of the package, put to the tests of the endpoints that it serves.
import { equal, match } from "node:assert/strict"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { ROOT } from "../support/bundle.ts"
import { codeBlocks } from "../support/code-blocks.ts"
import { freePort } from "../support/port.ts"
import type { Step } from "./run.ts"

/** Black-box tests whose Worker is the product as it is. */
const SUITES = [
  "provision-database",
  "systems",
  "front-door",
  "identity",
  "connection",
  "incident-report",
  "privacy",
  "api/state",
  "api/operations",
  "api/openapi",
].map((name) => `test/http/${name}.test.ts`)

const at = (folder: string) => join(folder, "empty")

function refuses(folder: string): void {
  const { status, stderr } = spawnSync("npx", ["waxseal", "serve", "--data", "data"], {
    cwd: at(folder),
    encoding: "utf8",
  })
  equal(status, 1)
  match(stderr, /^SEAL_KEYS: is required and has no default; .*\.\n$/)
}

/** The commands of the page, but for what is installed already and the port, which may be taken here. */
function startOfPage(port: string): string {
  const page = readFileSync(join(ROOT, "docs/self-hosting.md"), "utf8")
  const [commands] = codeBlocks(page).filter(({ language }) => language === "sh")
  const [install = "", ...others] = commands?.code.split("\n") ?? []
  equal(install, "npm install waxseal")
  return others.join("\n").replace("8787", port)
}

async function servesAndEnds(folder: string): Promise<void> {
  const port = String(await freePort())
  const npx = spawn("sh", ["-euc", startOfPage(port)], {
    cwd: at(folder),
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"] },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  })
  // Both streams close when everything under npx has ended, too.
  const ended = once(npx, "close")
  let said = ""
  npx.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text
  })
  while (!said.includes("/healthz\n")) await Promise.race([once(npx.stderr, "data"), ended.then(() => fail(said))])
  equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200)
  process.kill(-Number(npx.pid), "SIGTERM")
  await ended
}

function fail(said: string): never {
  throw new Error(`npx waxseal serve ended by itself:\n${said}`)
}

function passesTests(folder: string): void {
  const main = join(at(folder), "node_modules/waxseal/dist/lib/cli/main.js")
  const { status, stdout } = spawnSync("vitest", ["run", "--project", "http", "--reporter", "dot", ...SUITES], {
    cwd: ROOT,
    env: { ...process.env, WAXSEAL_SERVE: main },
    encoding: "utf8",
  })
  equal(status, 0, stdout)
}

export const serve: readonly Step[] = [
  ["npx waxseal serve says what it needs", refuses],
  ["docs/self-hosting.md: npx waxseal serve serves, and ends with npx", servesAndEnds],
  ["what it serves passes the tests of /mcp and /v1", passesTests],
]
