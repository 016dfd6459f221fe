import { parseArgs } from "node:util"
import { z } from "zod"
import { parseKeyRing, ringProblem } from "../seal/index.ts"
import { CommandError, readFlags, readPositionals } from "./command.ts"
import { parseSuite } from "./keygen.ts"
import { type Entry, editing, type Key, keysOf, newEntry, readKeys, replaceRingFile, ringText } from "./ring-file.ts"

export const LIST = "waxseal keys list FILE"
export const ROTATE = "waxseal keys rotate FILE [--in SECONDS] [--suite 1|2]"
export const RETIRE = "waxseal keys retire FILE KEY_ID"
export const REVOKE = "waxseal keys revoke FILE KEY_ID"

const FILE = z.tuple([z.string()])
const FILE_AND_KEY = z.tuple([z.string(), z.string()])

const DAY = 86_400_000
/** A stored result is kept for 30 days at most, and opens only while its key is in the ring. */
const RESULTS_KEPT = 30 * DAY
/** Beyond a year somebody meant something else. */
const LONGEST_WAIT_SECONDS = 31_536_000

/** Shows the keys of a ring file, in its order, without their secrets. */
export function list(args: readonly string[]): void {
  const [file] = readPositionals(LIST, positionalsOf(LIST, args), FILE)
  for (const { shown } of readKeys(file, Date.now())) {
    const { keyId, suite, state, sealsFrom, sealsUntil } = shown
    const until = sealsUntil === undefined ? "" : ` until ${timeText(sealsUntil)}`
    console.log(`${keyId}  suite ${suite}  ${state.padEnd(8)}  seals from ${timeText(sealsFrom)}${until}`)
  }
}

/**
 * Adds a key. By default it seals from an hour ahead, so that every running instance can have it by then; until its
 * time comes the ring seals as before, and afterwards the older keys go on opening what they sealed.
 */
export function rotate(args: readonly string[]): void {
  const { values, positionals } = readFlags(ROTATE, () =>
    parseArgs({
      args: [...args],
      options: { in: { type: "string", default: "3600" }, suite: { type: "string", default: "1" } },
      allowPositionals: true,
    }),
  )
  const [file] = readPositionals(ROTATE, positionals, FILE)
  const waitSeconds = parseWait(values.in)
  const suite = parseSuite(values.suite)
  editing(file, () => addKey(file, suite, waitSeconds))
}

function addKey(file: string, suite: 1 | 2, waitSeconds: number): void {
  const now = Date.now()
  const entries = readKeys(file, now).map(({ entry }) => entry)
  const sealsFrom = now + waitSeconds * 1_000
  if (sealsFrom > now && problemOf(entries, sealsFrom - 1) !== undefined) {
    throw new CommandError("No key would seal until the new one begins; choose a smaller --in, 0 for at once.")
  }
  const ring = [...entries, newEntry(suite, sealsFrom)]
  const added = keysOf(ringText(ring), "The new ring", now).at(-1)
  replaceRingFile(file, ring)
  const advice = sealsFrom > now ? "deploy the ring before that" : "deploy the ring now"
  console.log(`${added?.shown.keyId} seals from ${timeText(sealsFrom)}; ${advice}.`)
}

/** Removes a key that nothing needs any more. */
export function retire(args: readonly string[]): void {
  remove(RETIRE, args, ({ keyId, sealsUntil }, now) => {
    if (sealsUntil === undefined || now < sealsUntil) return `${keyId} has not stopped sealing; rotate first.`
    const needed = sealsUntil + RESULTS_KEPT
    if (now >= needed) return undefined
    return `${keyId} is needed until ${timeText(needed)}: stored results may live for 30 days after it stopped sealing; retire it then, or revoke it now.`
  })
}

/** Removes a key at once: nothing that it sealed opens from the next deployment on. */
export function revoke(args: readonly string[]): void {
  remove(REVOKE, args, () => undefined)
}

type Objection = (key: Key["shown"], now: number) => string | undefined

function remove(usage: string, args: readonly string[], objection: Objection): void {
  const [file, keyId] = readPositionals(usage, positionalsOf(usage, args), FILE_AND_KEY)
  editing(file, () => removeKey(file, keyId, objection))
}

function removeKey(file: string, keyId: string, objection: Objection): void {
  const now = Date.now()
  const keys = readKeys(file, now)
  const key = keys.find(({ shown }) => shown.keyId === keyId)
  if (!key) throw new CommandError(`${file} holds no key with this id; see: waxseal keys list ${file}`)
  const objected = objection(key.shown, now)
  if (objected !== undefined) throw new CommandError(objected)
  const ring = without(keys, key, now)
  if (problemOf(ring, now) !== undefined) {
    throw new CommandError(`Nothing would seal without ${keyId}; first add a key: waxseal keys rotate ${file} --in 0`)
  }
  replaceRingFile(file, ring)
  console.log(`${keyId} is removed; deploy the ring.`)
}

/**
 * A key without an end of its own seals until its successor's time. Where that successor goes and its time has come,
 * the end is written down: a key that has stopped never begins again.
 */
function without(keys: readonly Key[], removed: Key, now: number): Entry[] {
  const kept = keys.filter((key) => key !== removed)
  const { sealsFrom } = removed.shown
  if (now < sealsFrom) return kept.map(({ entry }) => entry)
  return kept.map(({ entry, shown }) =>
    entry.sealsUntil === undefined && shown.sealsUntil === sealsFrom
      ? { ...entry, sealsUntil: timeText(sealsFrom) }
      : entry,
  )
}

/** Why these entries cannot seal at this time. */
function problemOf(entries: readonly Entry[], time: number): string | undefined {
  const parsed = parseKeyRing(ringText(entries))
  return parsed.ok ? ringProblem(parsed.ring, time) : parsed.problem
}

function positionalsOf(usage: string, args: readonly string[]): string[] {
  return readFlags(usage, () => parseArgs({ args: [...args], allowPositionals: true })).positionals
}

function parseWait(text: string): number {
  const seconds = Number(text)
  if (/^\d+$/.test(text) && seconds <= LONGEST_WAIT_SECONDS) return seconds
  throw new CommandError(`--in must be a whole number of seconds from 0 to ${LONGEST_WAIT_SECONDS}.`)
}

function timeText(time: number): string {
  return new Date(time).toISOString()
}
