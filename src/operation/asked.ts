import { sha256 } from "@noble/hashes/sha2.js"
import { pae } from "../seal/index.ts"
import type { Rules } from "./rules.ts"

/** Eight bytes are enough to notice a change; they prove nothing, the seal around them does. */
const LENGTH = 8

/**
 * A digest of what was asked so far: the name, the version and the rules, then each step's key and, for a question, its
 * words as sent. Never code. Sealed with every question, so that a deployment between two legs shows.
 */
export type Asked = Uint8Array

/** The digest before the first step. `more` are rules of the kind of dialogue. */
export function askedNothing({ name, version, rounds, timeoutSeconds }: Rules, more: readonly string[]): Asked {
  return digest("rules", name, version, JSON.stringify([rounds, timeoutSeconds, ...more]))
}

/** The digest after one step more. */
export function askedAlso(
  before: Asked,
  step: "policy" | "pin" | "ask" | "decide",
  key?: string,
  words?: string,
): Asked {
  return digest(before, step, key, words)
}

export function sameAsked(one: Asked | undefined, other: Asked): boolean {
  return one?.length === other.length && other.every((byte, index) => byte === one[index])
}

function digest(...parts: (Uint8Array | string | undefined)[]): Asked {
  return sha256(pae(...parts)).subarray(0, LENGTH)
}
