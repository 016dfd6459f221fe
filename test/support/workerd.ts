import { createHash } from "node:crypto"
import { mkdir, rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { Readable } from "node:stream"
import { setTimeout } from "node:timers/promises"
import { runtimeConfig, startRuntime } from "../../src/cli/serve/index.ts"
import { type Bundle, buildBundle } from "./bundle.ts"
import { startServe } from "./serve.ts"

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
  /** Names of more services that run the bundle, each with isolates of its own, and share the objects of the first. */
  readonly replicas?: readonly string[]
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
  const packed = process.env["WAXSEAL_SERVE"]
  return packed === undefined ? startHere(options) : startPacked(packed, options)
}

/** By the packed command `waxseal serve`, to which `WAXSEAL_SERVE` is the path: what it serves can be tested as well. */
function startPacked(main: string, { bundle, rateLimits, replicas, storage, ...options }: WorkerOptions) {
  if (bundle ?? rateLimits ?? replicas) throw new Error("The packed command runs its own bundle, and that once.")
  return startServe({ ...options, main, data: storage })
}

async function startHere(options: WorkerOptions): Promise<Running> {
  const {
    bundle = await buildBundle(),
    bindings,
    storage,
    port = 0,
    rateLimits = {},
    keepLogs = true,
    replicas = [],
  } = options
  await mkdir(storage, { recursive: true })
  const services = ["worker", ...replicas] as const
  const limits = Object.entries(rateLimits).map(([binding, limit]) => [binding, { limit, period: 10 }] as const)
  const text = runtimeConfig(bundle, {
    settings: Object.keys(bindings),
    rateLimits: Object.fromEntries(limits),
    services,
  })
  const runtime = await startRuntime({
    config: await writeConfig(text, bundle.folder),
    storage,
    addresses: Object.fromEntries(services.map((name, index) => [name, `127.0.0.1:${index === 0 ? port : 0}`])),
    env: bindings,
    output: keepLogs ? "pipe" : "ignore",
    complaints: "pipe",
  })
  const { process: child, pid, ended } = runtime
  const logs = collect(child.stdout, child.stderr)
  const ports = await runtime.ports
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
    await Promise.race([ended, setTimeout(STOP_MILLISECONDS, undefined, { ref: false })])
    await kill()
  }
  const urls = ports.map((one) => `http://127.0.0.1:${one}`)
  return { url: `http://127.0.0.1:${listening}`, urls, port: listening, pid, logs, stop, kill }
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
