// The example of a Worker of one's own, with the packed library in place of the published one.
import { equal, match } from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { z } from "zod"
import { makeIdentity } from "../support/identity.ts"
import { call, resultOf } from "../support/mcp.ts"
import { startWorker } from "../support/workerd.ts"
import type { Step } from "./run.ts"

const LONGEST_EXAMPLE = 40

const at = (folder: string) => join(folder, "examples/own-worker")

function npm(cwd: string, ...args: readonly string[]): void {
  execFileSync("npm", args, { cwd, stdio: ["ignore", "ignore", "pipe"] })
}

async function askAndCommit(folder: string): Promise<void> {
  const dist = join(at(folder), "dist")
  const script = readdirSync(dist).find((name) => name.endsWith(".js")) ?? ""
  const bundle = {
    folder: dist,
    script,
    compatibilityDate: "2026-11-01",
    compatibilityFlags: ["enable_request_signal", "request_signal_passthrough"],
    objects: { LEDGER: "Ledger" },
    rateLimits: {},
  }
  const { SEAL_KEYS } = (await makeIdentity()).bindings
  const bindings = { SEAL_KEYS, AUTH_MODE: "none" }
  const worker = await startWorker({ bundle, bindings, storage: join(folder, "state") })
  try {
    const request = { method: "tools/call", name: "send_invitation", arguments: { email: "bob@example.com" } }
    const { requestState = "" } = resultOf(await call(`${worker.url}/mcp`, request))
    const inputResponses = { approval: { action: "accept", content: { approved: true } } }
    const answer = () => call(`${worker.url}/mcp`, { ...request, requestState, inputResponses }).then(resultOf)
    const first = await answer()
    equal(z.object({ status: z.string() }).parse(first.structuredContent).status, "completed")
    equal(JSON.stringify(await answer()), JSON.stringify(first))
    equal(worker.logs().match(/"event":"invited"/g)?.length, 1)
  } finally {
    await worker.stop()
  }
}

export const ownWorker: readonly Step[] = [
  [
    "the example is short",
    (folder) => {
      const lines = readFileSync(join(at(folder), "src/worker.ts"), "utf8")
        .trimEnd()
        .split("\n").length
      equal(lines < LONGEST_EXAMPLE, true, `src/worker.ts has ${lines} lines.`)
    },
  ],
  ["the example installs", (folder, archive) => npm(at(folder), "install", "--save-exact", archive)],
  ["the example's types are right", (folder) => npm(at(folder), "run", "check")],
  ["the example bundles", (folder) => npm(at(folder), "run", "build")],
  [
    "npx waxseal makes its keys",
    (folder) => {
      const ring = execFileSync("npx", ["waxseal", "keygen"], { cwd: at(folder), encoding: "utf8" })
      match(ring, /"key": "[\w-]{43}"/)
    },
  ],
  ["the example asks, and acts once", askAndCommit],
]
