import { hkdf } from "@noble/hashes/hkdf.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { z } from "zod"
import { base64UrlToBytes } from "./base64url.ts"
import { numberAt } from "./bytes.ts"
import { pae } from "./pae.ts"
import { type KeyRing, keyName, type RingKey } from "./ring.ts"
import { sipHash } from "./siphash.ts"
import { KEY_BYTES, SUITES } from "./suites.ts"

/** Keys for local development begin with these 8 bytes of ASCII; 24 random bytes follow. */
export const DEVELOPMENT_KEY_PREFIX = "dev-only"

const utf8 = new TextDecoder()
const LABEL = "waxseal key v1"
const KEY_ID_BYTES = 4
const HINT_KEY_BYTES = 16
const PSEUDONYM_KEY_AT = KEY_ID_BYTES + HINT_KEY_BYTES
const PSEUDONYM_KEY_BYTES = 16
const DERIVED_BYTES = PSEUDONYM_KEY_AT + PSEUDONYM_KEY_BYTES
/** Of 32 random bytes, fewer than this many differ once in 10^37 keys. */
const FEWEST_DISTINCT_BYTES = 8

/** No message quotes a value or the name of an unknown member: either may be a key in the wrong place. */
const KEY = z.string("key is not a string").transform((text, context) => {
  const bytes = base64UrlToBytes(text)
  if (bytes === undefined) return refuse(context, "key is not base64url without padding")
  if (bytes.length !== KEY_BYTES) return refuse(context, `key has ${bytes.length} bytes and needs ${KEY_BYTES}`)
  if (new Set(bytes).size < FEWEST_DISTINCT_BYTES) return refuse(context, "key is not random")
  return bytes
})

const SUITE = z.literal([1, 2], "suite is neither 1 nor 2").default(1)

const ENTRY = z
  .strictObject(
    { key: KEY, suite: SUITE, sealsFrom: time("sealsFrom"), sealsUntil: time("sealsUntil").optional() },
    { error: ({ code }) => (code === "unrecognized_keys" ? "it has an unknown member" : "it is not an object") },
  )
  .refine(({ sealsFrom, sealsUntil = Infinity }) => sealsFrom < sealsUntil, "sealsUntil is not after sealsFrom")

const ENTRIES = z.array(ENTRY, "it is not an array of keys").min(1, "it holds no key")

type Entry = z.infer<typeof ENTRY>

/**
 * Reads the value of `SEAL_KEYS`: `[{ "key", "suite"?, "sealsFrom", "sealsUntil"? }, …]`, each key 32 random bytes in
 * base64url. `problem` is a clause to follow "SEAL_KEYS: " and holds nothing of the value.
 *
 * @example
 * const parsed = parseKeyRing(env.SEAL_KEYS)
 * if (!parsed.ok) throw new Error(`SEAL_KEYS: ${parsed.problem}.`)
 */
export function parseKeyRing(text: string): { ok: true; ring: KeyRing } | { ok: false; problem: string } {
  const value = jsonOf(text)
  if (value === undefined) return { ok: false, problem: "it is not JSON" }
  const parsed = ENTRIES.safeParse(value)
  if (!parsed.success) return { ok: false, problem: firstProblem(parsed.error) }

  const entries = parsed.data.toSorted((a, b) => a.sealsFrom - b.sealsFrom)
  const keys = entries.map((entry, index) => ringKey(entry, entries[index + 1]?.sealsFrom))
  const problem = conflict(entries, keys)
  return problem === undefined ? { ok: true, ring: { keys } } : { ok: false, problem }
}

function time(member: string) {
  const problem = `${member} is not an RFC 3339 time`
  return z.iso.datetime({ offset: true, error: problem }).transform(Date.parse).refine(Number.isFinite, problem)
}

function refuse(context: z.RefinementCtx, message: string): never {
  context.addIssue({ code: "custom", message })
  return z.NEVER
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function firstProblem({ issues }: z.ZodError): string {
  const [issue] = issues
  const index = issue?.path[0]
  const problem = issue?.message ?? "it is not valid"
  return typeof index === "number" ? `entry ${index + 1}: ${problem}` : problem
}

function ringKey({ key, suite: number, sealsFrom, sealsUntil }: Entry, successorFrom = Infinity): RingKey {
  const suite = SUITES[number]
  const derived = hkdf(sha256, key, undefined, pae(LABEL, String(number)), DERIVED_BYTES)
  const id = numberAt(derived, 0, KEY_ID_BYTES)
  return {
    id,
    name: keyName(id),
    suite,
    sealsFrom,
    sealsUntil: sealsUntil ?? successorFrom,
    development: utf8.decode(key.subarray(0, DEVELOPMENT_KEY_PREFIX.length)) === DEVELOPMENT_KEY_PREFIX,
    subkey: suite.subkeysOf(key),
    hintMask: sipHash(derived.subarray(KEY_ID_BYTES, PSEUDONYM_KEY_AT)),
    pseudonym: sipHash(derived.subarray(PSEUDONYM_KEY_AT)),
  }
}

function conflict(entries: readonly Entry[], keys: readonly RingKey[]): string | undefined {
  if (hasRepeats(entries.map(({ key }) => key.join()))) return "the same key occurs twice"
  if (hasRepeats(keys.map(({ id }) => id))) return "two keys have the same derived id; replace one"
  if (hasRepeats(keys.map(({ sealsFrom }) => sealsFrom))) return "two keys have the same sealsFrom"
  return undefined
}

function hasRepeats(values: readonly unknown[]): boolean {
  return new Set(values).size < values.length
}
