// `npm run demo`: the official client against a server of its own, in a state of its own that is thrown away. Each line
// says what was tried and what came of it; the command fails when anything is not as it must be.
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { expiry, STEPS, type Step, Unexpected } from "./demo/steps.ts"
import type { Target, Who } from "./demo/visitor.ts"

const STARTING_MS = 30_000
const SHORT_LIFE_SECONDS = 2

const folder = await mkdtemp(join(tmpdir(), "waxseal-demo-"))
const port = await freePort()
const environment = { ...process.env, WAXSEAL_STATE: join(folder, "state"), WAXSEAL_SECRETS: folder }
const target: Target = { url: `http://localhost:${port}/mcp`, token }
let failures = 0
try {
  await withServer({}, () => show(STEPS))
  console.log("\nThe server is started again, with states that live two seconds.\n")
  await withServer({ STATE_TTL_SECONDS: String(SHORT_LIFE_SECONDS) }, () => show([expiry(SHORT_LIFE_SECONDS)]))
} finally {
  await rm(folder, { recursive: true, force: true })
}
console.log(failures === 0 ? "\nAll as it must be." : `\n${failures} of these are not as they must be.`)
process.exitCode = failures === 0 ? 0 : 1

async function show(steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    try {
      console.log(`ok    ${step.title}\n      ${await step.run(target)}`)
    } catch (error) {
      failures += 1
      console.log(`WRONG ${step.title}\n      ${error instanceof Unexpected ? error.message : String(error)}`)
    }
  }
}

async function withServer(settings: Record<string, string>, visit: () => Promise<void>): Promise<void> {
  console.log("Starting a server of the demonstration's own ...\n")
  const server = spawn(process.execPath, [join(import.meta.dirname, "start.ts"), "--port", String(port)], {
    env: { ...environment, ...settings },
    stdio: ["ignore", "ignore", "inherit"],
  })
  const ended = once(server, "exit")
  try {
    await untilHealthy(server)
    await visit()
  } finally {
    server.kill("SIGTERM")
    await ended
  }
}

async function untilHealthy(server: ChildProcess): Promise<void> {
  const giveUpAt = Date.now() + STARTING_MS
  while (server.exitCode === null && Date.now() < giveUpAt) {
    const healthy = await fetch(`http://localhost:${port}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (healthy) return
    await sleep(100)
  }
  throw new Error("The server did not start; see above.")
}

async function token({ principal, tenant }: Who): Promise<string> {
  const script = join(import.meta.dirname, "token.ts")
  const flags = ["--principal", principal, "--tenant", tenant, "--issuer-port", String(port)]
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...flags], { env: environment })
  return stdout.trim()
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  if (address === null || typeof address === "string") throw new Error("There is no free port.")
  return address.port
}
