import { type ChildProcess, spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import { mkdir, rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Readable } from "node:stream"
import { setTimeout } from "node:timers/promises"
import { z } from "zod"
import { type Bundle, buildBundle, ROOT } from "./bundle.ts"

const WORKERD = join(ROOT, "node_modules/.bin/workerd")

/** Requests that are under way may finish within this time after SIGTERM. */
const STOP_MILLISECONDS = 5_000

export interface WorkerOptions {
  /** Default: the production bundle. */
  readonly bundle?: Bundle
  /** Settings of the Worker by name; its Durable Objects are bound as its wrangler configuration says. */
  readonly bindings: Readonly<Record<string, string>>
  /** The folder of the Durable Objects' storage, made when missing. Start again on it to see what a crash left. */
  readonly storage: string
  /** Default: a free one. */
  readonly port?: number
}

export interface Running {
  /** `http://127.0.0.1:<port>`, without a trailing slash. */
  readonly url: string
  readonly port: number
  readonly pid: number
  /** All that the runtime and the Worker's console have written so far. */
  logs(): string
  /** SIGTERM, as an orderly shutdown; resolves when the process has ended. */
  stop(): Promise<void>
  /** SIGKILL, as a crash; resolves when the process has ended. */
  kill(): Promise<void>
}

/**
 * Runs a bundle in raw `workerd serve` with its objects on disk, and resolves when it takes requests. The process ends
 * with this one, however this one ends.
 *
 * @example
 * const worker = await startWorker({ bindings: identity.bindings, storage })
 * await fetch(`${worker.url}/healthz`)
 * await worker.stop()
 *
 * @throws with the runtime's own words when the Worker does not start
 */
export async function startWorker(options: WorkerOptions): Promise<Running> {
  const { bundle = await buildBundle(), bindings, storage, port = 0 } = options
  await mkdir(storage, { recursive: true })
  const config = await writeConfig(bundle, Object.keys(bindings))
  const address = `http=127.0.0.1:${port}`
  const child = spawn(
    WORKERD,
    ["serve", "--control-fd=3", `--directory-path=storage=${storage}`, `--socket-addr=${address}`, config],
    { env: bindings, stdio: ["ignore", "pipe", "pipe", "pipe"] },
  )
  await once(child, "spawn")
  const ended = once(child, "close")
  const logs = collect(child.stdout, child.stderr)
  const pid = z.number().parse(child.pid)
  endWithThisProcess(child, pid)
  const listening = await Promise.race([portOf(child), ended.then(() => undefined)])
  if (listening === undefined) throw new Error(`workerd ended before it took requests:\n${logs()}`)
  const kill = async () => {
    child.kill("SIGKILL")
    await ended
  }
  const stop = async () => {
    child.kill("SIGTERM")
    const patience = setTimeout(STOP_MILLISECONDS, undefined, { ref: false })
    if ((await Promise.race([ended, patience])) === undefined) await kill()
  }
  return { url: `http://127.0.0.1:${listening}`, port: listening, pid, logs, stop, kill }
}

/** workerd reports on its control descriptor which port a socket got, once it listens there. */
async function portOf(child: ChildProcess): Promise<number> {
  const control = child.stdio[3]
  if (!(control instanceof Readable)) throw new Error("workerd was spawned without a control descriptor.")
  const [line] = await once(control, "data")
  return z.object({ port: z.number() }).parse(JSON.parse(String(line))).port
}

/**
 * The shell waits for a line that never comes. When this process ends, even by SIGKILL, the system closes the pipe,
 * and the shell ends workerd; when workerd ends first, the shell is ended.
 */
function endWithThisProcess(child: ChildProcess, pid: number): void {
  const guard = spawn("sh", ["-c", `read -r _; kill -9 ${pid}`], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  })
  child.once("exit", () => guard.kill("SIGKILL"))
}

function collect(...streams: readonly (Readable | null)[]): () => string {
  let text = ""
  for (const stream of streams) {
    stream?.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk
    })
  }
  return () => text
}

/** Beside the bundle, under its own hash. Values of settings stay out of it: the Worker gets them from its environment. */
async function writeConfig(bundle: Bundle, settings: readonly string[]): Promise<string> {
  const text = configOf(bundle, settings)
  const file = join(bundle.folder, `${createHash("sha256").update(text).digest("hex").slice(0, 16)}.capnp`)
  const aside = `${file}.${process.pid}`
  await writeFile(aside, text)
  await rename(aside, file)
  return file
}

/** In the schema of workerd.capnp; JSON strings of names, dates and flags are Cap'n Proto strings too. */
function configOf(bundle: Bundle, settings: readonly string[]): string {
  const quote = (name: string) => JSON.stringify(name)
  const objects = Object.entries(bundle.objects)
  const bindings = [
    ...settings.map((name) => `(name = ${quote(name)}, fromEnvironment = ${quote(name)})`),
    ...objects.map(([name, className]) => `(name = ${quote(name)}, durableObjectNamespace = ${quote(className)})`),
  ]
  const namespaces = objects.map(
    ([, className]) => `(className = ${quote(className)}, uniqueKey = ${quote(className)}, enableSql = true)`,
  )
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "worker", worker = (
      modules = [(name = "worker.js", esModule = embed ${quote(bundle.script)})],
      compatibilityDate = ${quote(bundle.compatibilityDate)},
      compatibilityFlags = [${bundle.compatibilityFlags.map(quote).join(", ")}],
      bindings = [
        ${bindings.join(",\n        ")}
      ],
      durableObjectNamespaces = [${namespaces.join(", ")}],
      durableObjectStorage = (localDisk = "storage"),
    )),
    (name = "storage", disk = (writable = true)),
    # Servers on this machine, such as an issuer's, may be fetched.
    (name = "internet", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true))),
  ],
  sockets = [(name = "http", service = "worker")],
);
`
}
