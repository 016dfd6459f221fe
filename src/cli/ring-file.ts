import { randomBytes } from "node:crypto"
import { linkSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { z } from "zod"
import { bytesToBase64Url, type KeyListing, listKeys, parseKeyRing } from "../seal/index.ts"
import { CommandError, codeOf } from "./command.ts"

const KEY_BYTES = 32

/** Only what is copied from file to file: whether it is right is for `parseKeyRing` to say. */
const Entry = z.object({
  key: z.string(),
  suite: z.literal([1, 2]).exactOptional(),
  sealsFrom: z.string(),
  sealsUntil: z.string().exactOptional(),
})

/** One key as it stands in the file, secret included. */
export type Entry = Readonly<z.infer<typeof Entry>>

/** A key as it stands in the file, and what may be shown of it. */
export interface Key {
  readonly entry: Entry
  readonly shown: KeyListing
}

export function newEntry(suite: 1 | 2, sealsFrom: number): Entry {
  return { key: bytesToBase64Url(randomBytes(KEY_BYTES)), suite, sealsFrom: new Date(sealsFrom).toISOString() }
}

/** A value of SEAL_KEYS, an entry a paragraph. */
export function ringText(entries: readonly Entry[]): string {
  return `${JSON.stringify(entries, null, 2)}\n`
}

/** The keys of a ring file, in the order of the file. */
export function readKeys(file: string, now: number): Key[] {
  return keysOf(readRingText(file), file, now)
}

/** The keys of a value of SEAL_KEYS, in its order. `name` is what the value is called when it is none. */
export function keysOf(text: string, name: string, now: number): Key[] {
  const parsed = parseKeyRing(text)
  if (!parsed.ok) throw new CommandError(`${name} is not a key ring: ${parsed.problem}.`)
  // No two keys of a ring begin to seal at the same time.
  const shown = new Map(listKeys(parsed.ring, now).map((listing) => [listing.sealsFrom, listing]))
  return z
    .array(Entry)
    .parse(JSON.parse(text))
    .flatMap((entry) => {
      const listing = shown.get(Date.parse(entry.sealsFrom))
      return listing ? [{ entry, shown: listing }] : []
    })
}

export function readRingText(file: string): string {
  try {
    return readFileSync(file, "utf8")
  } catch (error) {
    throw unreadable(file, error)
  }
}

/** Puts a new file in place, for its owner alone; a file that is there already stays, whatever it is. */
export function createRingFile(file: string, entries: readonly Entry[]): void {
  writeAside(file, ringText(entries), linkSync)
}

/** One edit of a ring file at a time: between reading it and replacing it nobody else does. */
export function editing<Result>(file: string, edit: () => Result): Result {
  const lock = `${existing(file)}.lock`
  try {
    writeFileSync(lock, "", { mode: 0o600, flag: "wx" })
  } catch (error) {
    const code = codeOf(error)
    if (code !== "EEXIST") throw new CommandError(`${file} cannot be edited (${code}): ${lock} cannot be made.`)
    throw new CommandError(`${file} is being edited by another command; try again, and if none runs, remove ${lock}.`)
  }
  try {
    return edit()
  } finally {
    rmSync(lock, { force: true })
  }
}

/** The file itself, whatever links lead to it. */
function existing(file: string): string {
  try {
    return realpathSync(file)
  } catch (error) {
    throw unreadable(file, error)
  }
}

function unreadable(file: string, error: unknown): CommandError {
  return new CommandError(`${file} cannot be read (${codeOf(error)}); name the file that holds the value of SEAL_KEYS.`)
}

/** Replaces a ring file in one step: whoever reads it meanwhile finds the old ring or the new one. */
export function replaceRingFile(file: string, entries: readonly Entry[]): void {
  writeAside(realpathSync(file), ringText(entries), renameSync)
}

function writeAside(file: string, text: string, putInPlace: (draft: string, file: string) => void): void {
  const draft = `${file}.${crypto.randomUUID()}`
  try {
    writeFileSync(draft, text, { mode: 0o600, flag: "wx", flush: true })
    putInPlace(draft, file)
  } catch (error) {
    const code = codeOf(error)
    if (code === "EEXIST") throw new CommandError(`${file} exists; name another file, or rotate its keys.`)
    throw new CommandError(`${file} cannot be written (${code}).`)
  } finally {
    rmSync(draft, { force: true })
  }
}
