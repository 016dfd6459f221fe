import type { Bytes } from "./bytes.ts"
import { SealError } from "./errors.ts"
import { LONGEST_TTL_SECONDS } from "./limits.ts"
import type { Cipher, Suite } from "./suites.ts"

const NOTHING_SEALS = "no key seals now; add one whose sealsFrom has come and whose sealsUntil has not"

/** One key of the ring. It derives and never shows its secret. Times are milliseconds since 1970. */
export interface RingKey {
  /** 32 bits derived from secret and suite; public. */
  readonly id: number
  /** The id as people and `/v1` see it: 8 hexadecimal digits. */
  readonly name: string
  readonly suite: Suite
  readonly sealsFrom: number
  /** `Infinity` while the key has neither a `sealsUntil` of its own nor a successor. */
  readonly sealsUntil: number
  readonly development: boolean
  /** The subkey for one `info`. */
  subkey(info: Bytes): Promise<Cipher>
  /** 8 bytes that are a keyed function of the nonce: what the hints hide under. */
  hintMask(nonce: Bytes): Uint8Array
  /** 8 bytes that are a keyed function of a name. */
  pseudonym(name: Bytes): Uint8Array
}

/** The keys of `SEAL_KEYS`, made by `parseKeyRing`: oldest first, no two beginning to seal at the same time. */
export interface KeyRing {
  readonly keys: readonly RingKey[]
}

/** A key id as people see it. */
export function keyName(id: number): string {
  return id.toString(16).padStart(8, "0")
}

/** What may be shown of a key. Every key of the ring opens stored results, whatever its state. */
export interface KeyListing {
  readonly keyId: string
  readonly suite: 1 | 2
  readonly state: "upcoming" | "sealing" | "opening"
  readonly sealsFrom: number
  readonly sealsUntil?: number
  /** The end of opening tokens. */
  readonly opensUntil?: number
}

/** The newest key whose time to seal has come and not ended. */
export function sealingKey(ring: KeyRing, now: number): RingKey | undefined {
  return ring.keys.findLast((key) => key.sealsFrom <= now && now < key.sealsUntil)
}

/** Whoever has it in the ring can open what it sealed, as far as it names no time. */
export function findKey(ring: KeyRing, id: number, suite: Suite): RingKey | undefined {
  return ring.keys.find((key) => key.id === id && key.suite === suite)
}

/**
 * The key that a token names, unless its time to open is over. There is no lower bound: where a clock runs ahead, a
 * token may come before its key begins here, and its issue time is checked anyway.
 */
export function openingKey(ring: KeyRing, id: number, suite: Suite, now: number): RingKey | undefined {
  const key = findKey(ring, id, suite)
  return key && now < opensUntil(key) ? key : undefined
}

export function requireSealingKey(ring: KeyRing, now: number): RingKey {
  const key = sealingKey(ring, now)
  if (!key) throw new SealError("no_sealing_key", `The key ring cannot seal: ${NOTHING_SEALS}.`)
  return key
}

/**
 * Why this ring cannot work at this time, as a clause to follow "SEAL_KEYS: "; `undefined` when it can.
 *
 * @param now milliseconds since 1970
 * @example
 * const problem = ringProblem(ring, Date.now())
 * if (problem !== undefined) throw new Error(`SEAL_KEYS: ${problem}.`)
 */
export function ringProblem(ring: KeyRing, now: number): string | undefined {
  return sealingKey(ring, now) ? undefined : NOTHING_SEALS
}

/**
 * The keys with their states, oldest first.
 *
 * @param now milliseconds since 1970
 * @example
 * const sealing = listKeys(ring, Date.now()).find(({ state }) => state === "sealing")
 */
export function listKeys(ring: KeyRing, now: number): KeyListing[] {
  const sealing = sealingKey(ring, now)
  return ring.keys.map((key) => ({
    keyId: key.name,
    suite: key.suite.number,
    state: key === sealing ? "sealing" : now < key.sealsFrom ? "upcoming" : "opening",
    sealsFrom: key.sealsFrom,
    ...(key.sealsUntil < Infinity && { sealsUntil: key.sealsUntil, opensUntil: opensUntil(key) }),
  }))
}

/**
 * Whether any key is one that local development made; such a ring must not serve another host than localhost.
 *
 * @example
 * if (isDevelopmentRing(ring)) throw new Error("SEAL_KEYS: contains a development key.")
 */
export function isDevelopmentRing(ring: KeyRing): boolean {
  return ring.keys.some((key) => key.development)
}

function opensUntil(key: RingKey): number {
  return key.sealsUntil + LONGEST_TTL_SECONDS * 1_000
}
