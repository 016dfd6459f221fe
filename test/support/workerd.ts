import { type ChildProcess, spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import { mkdir, rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { createInterface } from "node:readline"
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
  /** By binding, how many calls of one key pass in 10 seconds; default: no such bindings. */
  readonly rateLimits?: Readonly<Record<string, number>>
  /** Default true. Whoever measures does not want to pay for reading, too. */
  readonly keepLogs?: boolean
  /** Default 1. So many services run the bundle, each with isolates of its own, and share the objects of the first. */
  readonly replicas?: number
}

export interface Running {
  /** `http://127.0.0.1:<port>`, without a trailing slash. */
  readonly url: string
  /** One a replica; the first is `url`. */
  readonly urls: readonly string[]
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
  const {
    bundle = await buildBundle(),
    bindings,
    storage,
    port = 0,
    rateLimits = {},
    keepLogs = true,
    replicas = 1,
  } = options
  await mkdir(storage, { recursive: true })
  const names = ["worker", ...Array.from({ length: replicas - 1 }, (_, index) => `replica-${index + 2}`)]
  const config = await writeConfig(configOf(bundle, Object.keys(bindings), rateLimits, names), bundle.folder)
  const addresses = names.map((name, index) => `--socket-addr=${name}=127.0.0.1:${index === 0 ? port : 0}`)
  const child = spawn(
    WORKERD,
    ["serve", "--control-fd=3", `--directory-path=storage=${storage}`, ...addresses, config],
    { env: bindings, stdio: ["ignore", keepLogs ? "pipe" : "ignore", "pipe", "pipe"] },
  )
  await once(child, "spawn")
  const ended = once(child, "close")
  const logs = collect(child.stdout, child.stderr)
  const pid = z.number().parse(child.pid)
  endWithThisProcess(child, pid)
  const ports = await Promise.race([portsOf(child, names), ended.then(() => [])])
  const [listening] = ports
  if (listening === undefined) {
    await ended
    throw new Error(`workerd ended before it took requests:\n${logs()}`)
  }
  const kill = async () => {
    child.kill("SIGKILL")
    await ended
  }
  const stop = async () => {
    child.kill("SIGTERM")
    const patience = setTimeout(STOP_MILLISECONDS, undefined, { ref: false })
    if ((await Promise.race([ended, patience])) === undefined) await kill()
  }
  const urls = ports.map((one) => `http://127.0.0.1:${one}`)
  return { url: `http://127.0.0.1:${listening}`, urls, port: listening, pid, logs, stop, kill }
}

const Listening = z.object({ socket: z.string(), port: z.number() })

/** workerd reports on its control descriptor, a line a socket, which port it got, once it listens there. */
async function portsOf(child: ChildProcess, sockets: readonly string[]): Promise<number[]> {
  const control = child.stdio[3]
  if (!(control instanceof Readable)) throw new Error("workerd was spawned without a control descriptor.")
  const ports = new Map<string, number>()
  for await (const line of createInterface(control)) {
    const { socket, port } = Listening.parse(JSON.parse(line))
    ports.set(socket, port)
    if (sockets.every((name) => ports.has(name))) break
  }
  return sockets.flatMap((name) => ports.get(name) ?? [])
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
async function writeConfig(text: string, folder: string): Promise<string> {
  const file = join(folder, `${createHash("sha256").update(text).digest("hex").slice(0, 16)}.capnp`)
  const aside = `${file}.${process.pid}`
  await writeFile(aside, text)
  await rename(aside, file)
  return file
}

/** In the schema of workerd.capnp; JSON strings of names, dates and flags are Cap'n Proto strings too. */
function configOf(
  bundle: Bundle,
  settings: readonly string[],
  rateLimits: Readonly<Record<string, number>>,
  names: readonly string[],
): string {
  const namespaces = Object.values(bundle.objects).map(
    (className) => `(className = ${quote(className)}, uniqueKey = ${quote(className)}, enableSql = true)`,
  )
  const objects = `durableObjectNamespaces = [${namespaces.join(", ")}],
      durableObjectStorage = (localDisk = "storage"),`
  const services = names.map((name, index) => service(name, bundle, settings, rateLimits, index === 0 ? objects : ""))
  const sockets = names.map((name) => `(name = ${quote(name)}, service = ${quote(name)})`)
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    ${services.join(",\n    ")},
    (name = "storage", disk = (writable = true)),
    # Servers on this machine, such as an issuer's, may be fetched.
    (name = "internet", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true))),
  ],
  sockets = [${sockets.join(", ")}],
  extensions = [(modules = [(name = ${quote(RATE_LIMIT_MODULE)}, internal = true, esModule = ${quote(RATE_LIMIT)})])],
);
`
}

/** Stands in for the platform's own counters, which raw workerd has none of. */
const RATE_LIMIT_MODULE = "waxseal-test:rate-limit"
const RATE_LIMIT = `export default function ({ limit }) {
  const windows = new Map()
  return {
    async limit({ key }) {
      const now = Date.now()
      const known = windows.get(key)
      const window = known && now < known.endsAt ? known : { calls: 0, endsAt: now + 10_000 }
      windows.set(key, window)
      window.calls += 1
      return { success: window.calls <= limit }
    },
  }
}`

function service(
  name: string,
  bundle: Bundle,
  settings: readonly string[],
  rateLimits: Readonly<Record<string, number>>,
  objects: string,
): string {
  const bindings = [
    ...settings.map((setting) => `(name = ${quote(setting)}, fromEnvironment = ${quote(setting)})`),
    ...Object.entries(rateLimits).map(
      ([binding, limit]) =>
        `(name = ${quote(binding)}, wrapped = (moduleName = ${quote(RATE_LIMIT_MODULE)}, innerBindings = [(name = "limit", json = "${limit}")]))`,
    ),
    ...Object.entries(bundle.objects).map(
      ([binding, className]) =>
        `(name = ${quote(binding)}, durableObjectNamespace = (className = ${quote(className)}, serviceName = "worker"))`,
    ),
  ]
  return `(name = ${quote(name)}, worker = (
      modules = [(name = "worker.js", esModule = embed ${quote(bundle.script)})],
      compatibilityDate = ${quote(bundle.compatibilityDate)},
      compatibilityFlags = [${bundle.compatibilityFlags.map(quote).join(", ")}],
      bindings = [
        ${bindings.join(",\n        ")}
      ],
      ${objects}
    ))`
}

function quote(text: string): string {
  return JSON.stringify(text)
}
