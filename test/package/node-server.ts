// The example of a server on Node, with the packed library in place of the published one.
import { equal } from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { startApi } from "../support/api.ts"
import { call, resultOf } from "../support/mcp.ts"
import { startNodeServer } from "../support/node-server.ts"
import type { Step } from "./run.ts"

const at = (folder: string) => join(folder, "examples/node-server")

function npm(cwd: string, ...args: readonly string[]): void {
  execFileSync("npm", args, { cwd, stdio: ["ignore", "ignore", "pipe"] })
}

async function askAndActOnce(folder: string): Promise<void> {
  const api = await startApi()
  const releases = join(folder, "releases")
  const server = await startNodeServer(at(folder), {
    WAXSEAL_URL: api.worker.url,
    WAXSEAL_TOKEN: await api.token(),
    USERS: '{"token-of-alice":"alice"}',
    RELEASES: releases,
  })
  try {
    const request = { token: "token-of-alice", method: "tools/call", name: "release", arguments: { version: "1.0.0" } }
    const { requestState = "" } = resultOf(await call(server.url, request))
    const inputResponses = { approval: { action: "accept", content: { approved: true } } }
    const answer = () => call(server.url, { ...request, requestState, inputResponses }).then(resultOf)
    equal((await answer()).isError ?? false, false)
    equal((await answer()).isError, true)
    equal(readFileSync(releases, "utf8"), "1.0.0\n")
  } finally {
    await server.stop()
    await api.stop()
  }
}

export const nodeServer: readonly Step[] = [
  ["the server on Node installs", (folder, archive) => npm(at(folder), "install", "--save-exact", archive)],
  ["its types are right", (folder) => npm(at(folder), "run", "check")],
  ["it asks, and acts once", askAndActOnce],
]
