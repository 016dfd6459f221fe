// The commands for local use as a person calls them: real processes, with state, keys and port of their own.
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { ROOT } from "../support/bundle.ts"

const BIN = join(ROOT, "node_modules/.bin")

export interface Place {
  readonly state: string
  readonly secrets: string
}

const places: string[] = []

export function newPlace(): Place {
  const folder = mkdtempSync(join(tmpdir(), "waxseal-local-"))
  places.push(folder)
  return { state: join(folder, "state"), secrets: folder }
}

export interface Ended {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

export interface Command {
  readonly process: ChildProcess
  readonly ended: Promise<Ended>
  /** Resolves when what one of its streams had so far matches; rejects when the command ends before it does. */
  prints(pattern: RegExp): Promise<void>
  output(): string
}

type Environment = Readonly<Record<string, string>>

/** The settings that the product reads come from the place and the test alone. */
function environment({ state, secrets }: Place, more: Environment): NodeJS.ProcessEnv {
  const { PATH } = process.env
  return { PATH: `${BIN}${delimiter}${PATH}`, HOME: secrets, WAXSEAL_STATE: state, WAXSEAL_SECRETS: secrets, ...more }
}

const commands: Command[] = []

/** Ends what a failed test left running, and takes every place away. */
export async function endAll(): Promise<void> {
  for (const { process } of commands) process.kill("SIGTERM")
  await Promise.all(commands.map(({ ended }) => ended))
  for (const folder of places) rmSync(folder, { recursive: true })
}

export function run(place: Place, file: string, args: readonly string[], more: Environment = {}): Command {
  const child = spawn(file, args, {
    cwd: ROOT,
    env: environment(place, more),
    stdio: ["ignore", "pipe", "pipe"],
  })
  let output = ""
  let errors = ""
  child.stdout.on("data", (chunk) => (output += chunk))
  child.stderr.on("data", (chunk) => (errors += chunk))
  const ended = once(child, "close").then(([code]): Ended => ({ code, output, errors }))
  const command: Command = {
    process: child,
    ended,
    output: () => output + errors,
    prints: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => (pattern.test(output) || pattern.test(errors)) && resolve()
        for (const stream of [child.stdout, child.stderr]) stream.on("data", look)
        child.once("exit", () => reject(new Error(`ended without ${pattern}: ${output}${errors}`)))
        look()
      }),
  }
  commands.push(command)
  return command
}

export function start(place: Place, args: readonly string[], more: Environment = {}): Command {
  return run(place, join(BIN, "node"), ["scripts/start.ts", ...args], more)
}

export function token(place: Place, ...args: readonly string[]): Promise<Ended> {
  return run(place, join(BIN, "node"), ["scripts/token.ts", ...args]).ended
}

/** The processes under this one, however deep. */
export function descendants(pid: number): number[] {
  const all = processes()
  const children = (parent: number): number[] =>
    all.flatMap(([child, of]) => (of === parent ? [child, ...children(child)] : []))
  return children(pid)
}

/** Every process and its parent: from /proc where it is, because the smallest images have no ps. */
function processes(): [pid: number, parent: number][] {
  const lines = existsSync("/proc/self/stat")
    ? statLines()
    : execFileSync("ps", ["-eo", "pid=,ppid="]).toString().split("\n")
  return lines.map((line) => {
    const [pid = 0, parent = 0] = line.trim().split(/\s+/).map(Number)
    return [pid, parent]
  })
}

function statLines(): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const [, parent] = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1)?.split(" ") ?? []
        return `${pid} ${parent}`
      } catch {
        return []
      }
    })
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
