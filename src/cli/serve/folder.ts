import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { dirname, join, sep } from "node:path"
import { CommandError, codeOf, shown } from "../command.ts"
import { patiently } from "./patience.ts"

const LOCK = "lock.sqlite"
const SQLITE_BUSY = 5

/** A folder that belongs to this process until it is let go. */
export interface Lock {
  close(): void
}

/**
 * One server a folder, which is made for its owner alone where there is none. The lock is the operating system's, on a
 * file that stays empty: it ends with the process that holds it, however that ends, so there is no stale one to be told
 * from a live one.
 *
 * @throws a CommandError that ends with `elsewhere`: how another folder is chosen
 */
export async function lockFolder(folder: string, elsewhere: string): Promise<Lock> {
  try {
    makeFolder(folder)
    // With a slash, a file fails as no folder; SQLite would say of all of it that a file does not open.
    accessSync(`${folder}/`, constants.W_OK)
    // Imported here: some versions of Node warn of it, and only a server needs it.
    const { DatabaseSync } = await import("node:sqlite")
    const lock = new DatabaseSync(join(folder, LOCK))
    await patiently(() => lock.exec("BEGIN EXCLUSIVE"), isLocked)
    return lock
  } catch (error) {
    if (isLocked(error)) throw new CommandError(`Another server uses ${shown(folder)}; stop it, or ${elsewhere}.`)
    throw new CommandError(`The folder ${shown(folder)} cannot be used: ${faultOf(error)}; ${elsewhere}.`)
  }
}

/**
 * Whoever may write to the folder can put another ledger in the place of this one. Whoever may only read it sees four
 * names: what stands behind them is the owner's alone. Windows knows no such modes.
 */
export function refuseOthersFolder(folder: string): void {
  if (process.platform === "win32") return
  if (!isFolder(folder) || (statSync(folder).mode & 0o022) === 0) return
  const name = shown(folder)
  throw new CommandError(
    `Others may write to ${name}: chmod go-w ${name}, or name a folder in it, which is made for you alone: --data ${join(name, "data")}`,
  )
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory()
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

function faultOf(error: unknown): string {
  const code = codeOf(error)
  switch (code) {
    case "ENOTDIR":
      return "a file stands there, or on the way there"
    case "ENOENT":
      return "it cannot be made there"
    case "EACCES":
    case "EPERM":
      return "this user may not write there"
    case "EROFS":
      return "it can only be read"
    case "ENOSPC":
      return "its disk is full"
    case "ERR_SQLITE_ERROR":
      return `its file ${LOCK} is no lock or cannot be written`
    default:
      return code
  }
}

function isLocked(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY
}

/** Writes down in which process group the runtime of this folder runs. */
export function nameGroup(folder: string, group: number): void {
  try {
    writeFileSync(groupFile(folder), String(group))
  } catch (error) {
    throw unusable(folder, error)
  }
}

/** When the runtime has ended: the system may give the number to others. */
export function forgetGroup(folder: string): void {
  rmSync(groupFile(folder), { force: true })
}

/**
 * Where all processes of a server but its runtime were killed, the runtime still writes to the folder. Whoever calls
 * this holds the folder's lock, so a runtime that was named before and has the folder open is nobody's. Returns when it
 * has ended.
 */
export async function endOrphans(folder: string): Promise<void> {
  const group = namedGroup(folder)
  const orphans = orphansOn(folder, group)
  for (const pid of orphans) end(pid)
  await patiently(
    () => {
      if (orphans.some((pid) => isRuntimeIn(group, pid)))
        throw new CommandError(`The runtime that a killed server left on ${shown(folder)} does not end; end it.`)
    },
    () => true,
  )
}

function namedGroup(folder: string): number {
  try {
    return Number(readFileSync(groupFile(folder), "utf8"))
  } catch (error) {
    if (codeOf(error) === "ENOENT") return 0
    throw unusable(folder, error)
  }
}

function unusable(folder: string, error: unknown): CommandError {
  const file = shown(groupFile(folder))
  return new CommandError(`The file ${file} cannot be used (${codeOf(error)}); take it away and start again.`)
}

/**
 * All runtimes in a group of which one has something in the folder open, where `/proc` tells: another may hold the port
 * alone. The number may have been given anew, to the runtime of another folder.
 */
function orphansOn(folder: string, group: number): number[] {
  if (group === 0 || !existsSync("/proc/self/stat")) return []
  const inside = join(realpathSync(folder), sep)
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name))
  const runtimes = pids.map(Number).filter((pid) => isRuntimeIn(group, pid))
  return runtimes.some((pid) => hasOpen(inside, pid)) ? runtimes : []
}

/** False of a process that has ended meanwhile. */
function isRuntimeIn(group: number, pid: number): boolean {
  try {
    const [, name = "", state = "", itsGroup = ""] =
      readFileSync(`/proc/${pid}/stat`, "latin1").match(/\((.*)\) (\S) \d+ (\d+)/) ?? []
    return name === "workerd" && Number(itsGroup) === group && state !== "Z"
  } catch {
    return false
  }
}

/** False of another user's process, which is none of ours, and of one that has ended meanwhile. */
function hasOpen(inside: string, pid: number): boolean {
  const opened = `/proc/${pid}/fd`
  try {
    return readdirSync(opened).some((descriptor) => linkOf(join(opened, descriptor)).startsWith(inside))
  } catch {
    return false
  }
}

/** Empty of a file that was closed meanwhile. */
function linkOf(descriptor: string): string {
  try {
    return readlinkSync(descriptor)
  } catch {
    return ""
  }
}

/** One that may not be ended, or has ended by itself, is seen by whoever looks again. */
function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL")
  } catch (error) {
    if (!["EPERM", "ESRCH"].includes(codeOf(error))) throw error
  }
}

function groupFile(folder: string): string {
  return join(folder, "group")
}
