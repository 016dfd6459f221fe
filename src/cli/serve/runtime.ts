import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createRequire } from "node:module"
import { createInterface } from "node:readline"
import { Readable } from "node:stream"
import { z } from "zod"
import { CommandError } from "../command.ts"

export interface RuntimeOptions {
  /** The file of a configuration. */
  readonly config: string
  /** The folder of the Durable Objects' storage, which is there. */
  readonly storage: string
  /** The address of each service's socket, `host:port`; port 0 is a free one. */
  readonly addresses: Readonly<Record<string, string>>
  /** All that the runtime's environment holds. */
  readonly env: Readonly<Record<string, string>>
  /** Where the Worker's log lines and the runtime's own complaints go. */
  readonly output: "pipe" | "ignore" | "inherit"
  readonly complaints: "pipe" | "inherit"
}

export interface Runtime {
  readonly process: ChildProcess
  /** Also the number of its process group, which is its own: the terminal's Ctrl-C does not reach it. */
  readonly pid: number
  /**
   * Where each service listens, in the order of the addresses; none where the process ended first. Requests that come
   * before this are taken, too, once the Worker is up.
   */
  readonly ports: Promise<readonly number[]>
  /** Resolves when the process has ended and its output is closed. */
  readonly ended: Promise<void>
}

/**
 * Starts `workerd serve`. It ends with this process, however this one ends; while it runs, SIGTERM lets calls that are
 * under way finish, and SIGKILL is a crash that storage is made for.
 */
export async function startRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { config, storage, addresses, env, output, complaints } = options
  const sockets = Object.entries(addresses).map(([name, address]) => `--socket-addr=${name}=${address}`)
  const args = ["serve", "--import-path=/", "--control-fd=3", `--directory-path=storage=${storage}`, ...sockets, config]
  const child = spawn(runtimePath(), args, { env, detached: true, stdio: ["ignore", output, complaints, "pipe"] })
  await once(child, "spawn")
  const ended = once(child, "close").then(() => undefined)
  const pid = z.number().parse(child.pid)
  endWithThisProcess(child, pid)
  return { process: child, pid, ended, ports: portsOf(child, Object.keys(addresses)) }
}

const Installed = z.object({ default: z.string() })

/** The binary for this machine, which the optional dependency brings. */
function runtimePath(): string {
  try {
    return Installed.parse(createRequire(import.meta.url)("workerd")).default
  } catch {
    throw new CommandError(
      "The runtime is not installed; install waxseal with its optional dependencies, on Linux with glibc, macOS or Windows.",
    )
  }
}

const Listening = z.object({ socket: z.string(), port: z.number() })

/** workerd reports on its control descriptor, a line a socket, which port it got, once it listens there. */
async function portsOf(child: ChildProcess, sockets: readonly string[]): Promise<readonly number[]> {
  const control = child.stdio[3]
  if (!(control instanceof Readable)) throw new TypeError("workerd was spawned without a control descriptor.")
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
 * and the shell ends workerd; when workerd ends first, the shell is ended. On Windows nobody does it.
 */
function endWithThisProcess(child: ChildProcess, pid: number): void {
  if (process.platform === "win32") return
  const script = 'read -r _; kill -s KILL "$1"'
  const guard = spawn("sh", ["-c", script, "guard", String(pid)], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  })
  child.once("exit", () => guard.kill("SIGKILL"))
}
