// The server of `npm start`: checks what it needs, runs the Worker in local workerd, and ends with its parent's channel.
// It uses no account and no network, and keeps nothing but what the Worker's objects store.
import type { ChildProcess } from "node:child_process"
import { subscribe } from "node:diagnostics_channel"
import { basename, join } from "node:path"
import { parseArgs } from "node:util"
import { CommandError, readFlags, runCommand, shown } from "../src/cli/command.ts"
import {
  endOrphans,
  forgetGroup,
  goodSettings,
  lockFolder,
  nameGroup,
  parsePort,
  portTrouble,
} from "../src/cli/serve/index.ts"
import { settingNames } from "../src/settings.ts"
import { DEFAULT_PORT, localSecrets, ROOT, STATE_FOLDER, TENANT_CLAIM } from "./local.ts"

const parentGone = new Promise<void>((resolve) => {
  process.once("disconnect", resolve)
  if (!process.connected) resolve()
})

await runCommand(async () => {
  const port = chosenPort()
  const settings = await chosenSettings(port)
  const lock = await lockFolder(STATE_FOLDER, "set WAXSEAL_STATE to another folder")
  await endOrphans(STATE_FOLDER)
  nameGroup(STATE_FOLDER, process.pid)
  await checkPort(port)
  const runtimeGone = watchRuntime()
  const worker = await Promise.race([runWorker(port, settings), runtimeGone, parentGone])
  if (worker) {
    announce(port, settings)
    await Promise.race([runtimeGone, parentGone])
    await worker.dispose()
    forgetGroup(STATE_FOLDER)
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
  goodSettings(chosen, new URL(`http://localhost:${port}`))
  return chosen
}

/** Both addresses of `localhost`: a client may try either first. The second is not everywhere. */
async function checkPort(port: number): Promise<void> {
  for (const host of ["127.0.0.1", "::1"]) {
    const trouble = await portTrouble(host, port)
    if (trouble === "EADDRINUSE") {
      throw new CommandError(`Port ${port} is taken; stop what uses it, or choose another: npm start -- --port 9000.`)
    }
    if (trouble !== undefined && host === "127.0.0.1") {
      throw new CommandError(`Port ${port} cannot be used: ${trouble}.`)
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
