// The server of `npm start`: checks what it needs, runs the Worker in local workerd, and ends with its parent's channel.
// It uses no account and no network, and keeps nothing but what the Worker's objects store.
import type { ChildProcess } from "node:child_process"
import { subscribe } from "node:diagnostics_channel"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { basename, dirname, join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { CommandError, codeOf, readFlags, runCommand } from "../src/cli/command.ts"
import { checkHost, checkRing, readSettings, settingNames } from "../src/settings.ts"
import { DEFAULT_PORT, localSecrets, parsePort, ROOT, STATE_FOLDER, shown, TENANT_CLAIM } from "./local.ts"

/** A server that was just killed lets go of its state and its port within this time. */
const PATIENCE_MS = 3_000

const SQLITE_BUSY = 5

const parentGone = new Promise<void>((resolve) => {
  process.once("disconnect", resolve)
  if (!process.connected) resolve()
})

await runCommand(async () => {
  const port = chosenPort()
  const settings = await chosenSettings(port)
  const lock = await lockState()
  endOrphans()
  await checkPort(port)
  const runtimeGone = watchRuntime()
  const worker = await Promise.race([runWorker(port, settings), runtimeGone, parentGone])
  if (worker) {
    announce(port, settings)
    await Promise.race([runtimeGone, parentGone])
    await worker.dispose()
  }
  lock.close()
})
process.exit()

function chosenPort(): number {
  const { port } = readFlags(
    "npm start -- [--port 8787]",
    () => parseArgs({ options: { port: { type: "string" } } }).values,
  )
  return parsePort(port ?? (process.env["PORT"] || String(DEFAULT_PORT)))
}

/** Local defaults and `.dev.vars`, overruled by the shell, where an empty value takes a default away. */
async function chosenSettings(port: number): Promise<Record<string, string>> {
  const { vars } = await localSecrets()
  const all: Record<string, string | undefined> = {
    AUTH_ISSUER: `http://localhost:${port}`,
    AUTH_TENANT_CLAIM: TENANT_CLAIM,
    ...vars,
    ...(process.env["AUTH_JWKS_URL"] && { AUTH_JWKS: undefined }),
    ...process.env,
  }
  const chosen: Record<string, string> = {}
  for (const name of settingNames) {
    const value = all[name]
    if (value) chosen[name] = value
  }
  refuseWrong(chosen, port)
  return chosen
}

function refuseWrong(chosen: object, port: number): void {
  const result = readSettings(chosen)
  if (!result.ok) throw new CommandError(`${result.setting}: ${result.problem}`)
  if (result.settings.jurisdictions.size > 0) {
    throw new CommandError("JURISDICTIONS: cannot be kept on one machine; remove it here, it is for deployments.")
  }
  const here = new URL(`http://localhost:${port}`)
  const problem = checkHost(result.settings, here) ?? checkRing(result.settings, Date.now())
  if (problem !== undefined) throw new CommandError(problem)
}

/**
 * One server a state folder. The lock is the operating system's, on a file that stays empty: it ends with the process
 * that holds it, however that ends, so there is no stale one to be told from a live one.
 */
async function lockState(): Promise<DatabaseSync> {
  try {
    makeFolder(STATE_FOLDER)
    const lock = new DatabaseSync(join(STATE_FOLDER, "lock.sqlite"))
    await patiently(() => lock.exec("BEGIN EXCLUSIVE"), isLocked)
    return lock
  } catch (error) {
    if (isLocked(error)) {
      throw new CommandError(
        `Another server uses the state in ${shown(STATE_FOLDER)}; stop it, or set WAXSEAL_STATE to another folder.`,
      )
    }
    throw new CommandError(`The state folder ${shown(STATE_FOLDER)} cannot be used: ${codeOf(error)}.`)
  }
}

/** Node's own `recursive` never ends where a parent takes no folders, such as /proc. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  makeFolder(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    if (!existsSync(folder)) throw error
  }
}

/**
 * Where all processes of a server but its runtime were killed, the runtime still writes to the state. This process holds
 * the state's lock, so whoever is left of the group that held it before is nobody's. Then names its own group.
 */
function endOrphans(): void {
  const file = join(STATE_FOLDER, "group")
  const before = existsSync(file) ? Number(readFileSync(file, "utf8")) : 0
  for (const pid of runtimesOf(before)) process.kill(pid, "SIGKILL")
  writeFileSync(file, String(process.pid))
}

/** The runtime's processes in a group, where the system's `/proc` tells; a number that was given anew is no runtime's. */
function runtimesOf(group: number): number[] {
  if (group === 0 || !existsSync("/proc/self/stat")) return []
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name))
  return pids.map(Number).filter((pid) => {
    try {
      const [, name = "", fields = ""] =
        readFileSync(`/proc/${pid}/stat`, "latin1").match(/\((.*)\) \S \d+ (\d+)/) ?? []
      return name === "workerd" && Number(fields) === group
    } catch {
      return false
    }
  })
}

function isLocked(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY
}

/** Both addresses of `localhost`: a client may try either first. */
async function checkPort(port: number): Promise<void> {
  for (const host of ["127.0.0.1", "::1"]) {
    try {
      await patiently(() => listenOnce(host, port), isTaken)
    } catch (error) {
      if (isTaken(error)) {
        throw new CommandError(`Port ${port} is taken; stop what uses it, or choose another: npm start -- --port 9000.`)
      }
      if (host === "127.0.0.1") throw new CommandError(`Port ${port} cannot be used: ${codeOf(error)}.`)
    }
  }
}

function isTaken(error: unknown): boolean {
  return codeOf(error) === "EADDRINUSE"
}

function listenOnce(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject)
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve()))
  })
}

/** Tries again for a while as long as the error may pass. */
async function patiently(attempt: () => void | Promise<void>, mayPass: (error: unknown) => boolean): Promise<void> {
  const giveUpAt = Date.now() + PATIENCE_MS
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (!mayPass(error) || Date.now() > giveUpAt) throw error
      await sleep(50)
    }
  }
}

/** Rejects when a process of the runtime ends by itself: the server would stay, and answer nothing. */
function watchRuntime(): Promise<never> {
  return new Promise((_, reject) => {
    subscribe("child_process", (message) => {
      const { process: child } = message as { process: ChildProcess }
      child.once("exit", () => {
        const isRuntime = basename(child.spawnfile).startsWith("workerd")
        if (isRuntime) reject(new CommandError("The runtime has ended by itself; start again."))
      })
    })
  })
}

async function runWorker(port: number, settings: Record<string, string>) {
  // Loaded now, not first: it takes longer than all checks together.
  const { unstable_startWorker } = await import("wrangler")
  const worker = await unstable_startWorker({
    config: join(ROOT, "wrangler.toml"),
    bindings: Object.fromEntries(
      Object.entries(settings).map(([name, value]) => [name, { type: "secret_text", value }]),
    ),
    // A name without a file: this command has read .dev.vars, and nothing else may add to it.
    envFiles: ["none"],
    dev: {
      server: { hostname: "127.0.0.1", port },
      persist: STATE_FOLDER,
      watch: false,
      inspector: false,
      logLevel: "error",
      structuredLogsHandler: writeLog,
    },
  })
  // `ready` speaks of the proxy in front alone: it may be so while the Worker is still being built.
  const loaded = new Promise((resolve, reject) => {
    worker.raw.once("reloadComplete", resolve)
    worker.raw.once("buildFailed", () => reject(new CommandError("The Worker does not build; see above.")))
    worker.raw.once("error", () =>
      reject(new CommandError("The runtime does not start; is the state folder in order?")),
    )
  })
  await Promise.all([worker.ready, loaded])
  return worker
}

/** What the Worker logs, line by line as it wrote it. */
function writeLog({ level, message }: { level: string; message: string }): void {
  const stream = level === "error" || level === "warn" ? process.stderr : process.stdout
  stream.write(`${message}\n`)
}

function announce(port: number, { AUTH_ISSUER }: Record<string, string>): void {
  const origin = `http://localhost:${port}`
  console.log(`Waxseal runs on ${origin} (Ctrl-C stops it).

  MCP endpoint  ${origin}/mcp
  Sealing API   ${origin}/v1
  Health        ${origin}/healthz
  State         ${shown(STATE_FOLDER)}
`)
  if (AUTH_ISSUER === origin) showFirstCall(origin, port)
}

/** Where local tokens are good. */
function showFirstCall(origin: string, port: number): void {
  const otherPort = port === DEFAULT_PORT ? "" : ` --issuer-port ${port}`
  console.log(`Ask for a database as alice; the answer is a question and a sealed requestState:

curl -s ${origin}/mcp \\
  -H "Authorization: Bearer $(npm run -s token -- --principal alice${otherPort})" \\
  -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \\
  -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H 'Mcp-Name: provision_database' \\
  -d '${JSON.stringify(firstCall())}'
`)
}

function firstCall(): object {
  return {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: {
      name: "provision_database",
      arguments: { name: "orders" },
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "curl", version: "1" },
        "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
      },
    },
  }
}
