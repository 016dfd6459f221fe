// What the packed library offers: its types and entries as other tools see them, and in an empty project on Node.
import { equal, match } from "node:assert/strict"
import { execFile, execFileSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { startApi } from "../support/api.ts"
import { ROOT } from "../support/bundle.ts"
import type { Step } from "./run.ts"

const at = (folder: string) => join(folder, "empty")

function run(cwd: string, command: string, ...args: readonly string[]): string {
  return execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })
}

/** One of the project's own tools. */
function tool(name: string, ...args: readonly string[]): void {
  try {
    run(ROOT, join(ROOT, "node_modules/.bin", name), ...args)
  } catch (error) {
    throw error instanceof Error && "stdout" in error ? new Error(String(error.stdout)) : error
  }
}

/** The entry `.` is for Workers alone; the example of one imports it. */
const IMPORTS = `
  const { createClient } = await import("waxseal/client")
  const { createApiCodec, createLocalCodec } = await import("waxseal/codec")
  const { createSealer } = await import("waxseal/seal")
  console.log([createClient, createApiCodec, createLocalCodec, createSealer].map((one) => typeof one).join())
`

const CALLS = `
  const { createClient } = await import("waxseal/client")
  const client = createClient({ url: process.env.WAXSEAL_URL, token: process.env.WAXSEAL_TOKEN })
  const bound = { principal: "alice", request: { method: "tools/call", target: "t" } }
  const { requestState } = await client.seal({ ...bound, state: { cost: 40 } })
  const { state } = await client.redeem({ ...bound, requestState })
  const result = await client.operations.run("order-7", { fingerprint: "three" }, async () => state)
  console.log(JSON.stringify(result))
`

async function callFrom(folder: string): Promise<void> {
  const api = await startApi()
  try {
    const env = { PATH: process.env["PATH"], WAXSEAL_URL: api.worker.url, WAXSEAL_TOKEN: await api.token() }
    const options = { cwd: at(folder), env }
    const { stdout } = await promisify(execFile)("node", ["--input-type=module", "-e", CALLS], options)
    equal(stdout, '{"cost":40}\n')
  } finally {
    await api.stop()
  }
}

export const entries: readonly Step[] = [
  ["publint finds nothing to mend", (_, archive) => tool("publint", "--strict", archive)],
  ["its types resolve as its code does", (_, archive) => tool("attw", archive, "--profile", "esm-only")],
  [
    "it installs into an empty project",
    (folder, archive) => {
      mkdirSync(at(folder))
      writeFileSync(join(at(folder), "package.json"), JSON.stringify({ private: true }))
      run(at(folder), "npm", "install", archive)
    },
  ],
  [
    "its entries for Node import there",
    (folder) =>
      equal(run(at(folder), "node", "--input-type=module", "-e", IMPORTS), "function,function,function,function\n"),
  ],
  ["its client calls the API from there", callFrom],
  ["npx waxseal works there", (folder) => match(run(at(folder), "npx", "waxseal", "keygen"), /"key": "[\w-]{43}"/)],
]
