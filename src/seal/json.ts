import canonicalize from "canonicalize"
import type { Json } from "../brands.ts"
import { JSON_DEPTH, STATE_LIMIT_BYTES } from "./limits.ts"
import { sha256 } from "./sha256.ts"
import { utf8Length } from "./utf8.ts"

/** What a value may hold at most; checked while it is walked, so that a huge one costs no more than the bounds. */
interface Bounds {
  /** Values at every depth, the outermost included. */
  readonly values: number
  /** In all objects together: an engine sorts and looks up names at many times the cost of an array's elements. */
  readonly members: number
  /** UTF-16 units in all strings and member names together. */
  readonly characters: number
  readonly number: (value: number) => string | undefined
}

type PlainObject = Readonly<Record<string, unknown>>

const ARGUMENTS: Bounds = { values: 100_000, members: 10_000, characters: 2_097_152, number: exactNumberProblem }
/** The JSON text is longer than any of these counts, so they refuse early what the text's length refuses in the end. */
const STATE: Bounds = {
  values: STATE_LIMIT_BYTES,
  members: STATE_LIMIT_BYTES,
  characters: STATE_LIMIT_BYTES,
  number: numberProblem,
}

/** In bytes of JSON: an escape such as \u001f for one UTF-16 unit. */
const LONGEST_UNIT = 6
/** In bytes of JSON: a number of 24 digits and signs, the quotes and the colon of its name, a comma. */
const LONGEST_VALUE = 28

const NOT_JSON = "a value is not JSON"

/**
 * RFC 8785 form of a JSON value: the same text for any order of members, spelling of numbers or escapes.
 * At most 64 levels deep, 100,000 values, 10,000 members and 2 MiB of strings. `problem` is a clause that
 * quotes nothing of the value.
 *
 * @example canonicalJson({ b: 1.0, a: "é" }) // { ok: true, text: '{"a":"é","b":1}' }
 */
export function canonicalJson(value: unknown): { ok: true; text: string } | { ok: false; problem: string } {
  const problem = new Walk(ARGUMENTS).value(value, 0)
  if (problem !== undefined) return { ok: false, problem }
  const text = canonicalize(value)
  return text === undefined ? { ok: false, problem: NOT_JSON } : { ok: true, text }
}

/**
 * SHA-256 of the arguments in RFC 8785 form, for `Binding.argumentsDigest`. The bounds are those of `canonicalJson`.
 *
 * @example const digested = await digestArguments(params.arguments)
 */
export async function digestArguments(
  args: unknown,
): Promise<{ ok: true; digest: Uint8Array } | { ok: false; problem: string }> {
  const canonical = canonicalJson(args)
  if (!canonical.ok) return canonical
  const digest = sha256(canonical.text)
  return { ok: true, digest: digest instanceof Promise ? await digest : digest }
}

/**
 * What keeps a value from being a state, as a clause that quotes nothing of it.
 *
 * @example stateProblem("a".repeat(5_000)) // "its strings have more than 4096 characters"
 */
export function stateProblem(state: Json): string | undefined {
  const walk = new Walk(STATE)
  const problem = walk.value(state, 0)
  if (problem !== undefined) return problem
  if (walk.longestText <= STATE_LIMIT_BYTES) return undefined
  const bytes = utf8Length(JSON.stringify(state))
  return bytes > STATE_LIMIT_BYTES ? `it has ${bytes} bytes of JSON, at most ${STATE_LIMIT_BYTES} fit` : undefined
}

/** Each method answers the first problem it finds. Bounds are checked before what they bound is walked. */
class Walk {
  readonly #bounds: Bounds
  #values = 0
  #members = 0
  #characters = 0

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  /** What was walked has no more bytes of JSON than this. */
  get longestText(): number {
    return LONGEST_UNIT * this.#characters + LONGEST_VALUE * this.#values
  }

  value(value: unknown, depth: number): string | undefined {
    this.#values++
    if (typeof value === "string") return this.#text(value)
    if (typeof value === "number") return this.#bounds.number(value)
    if (value === null || typeof value === "boolean") return undefined
    if (typeof value !== "object") return NOT_JSON
    if (depth === JSON_DEPTH) return `it is nested deeper than ${JSON_DEPTH} levels`
    if (Array.isArray(value)) return this.#elementsOf(value, depth + 1)
    return isPlain(value) ? this.#membersOf(value, depth + 1) : NOT_JSON
  }

  #text(text: string): string | undefined {
    this.#characters += text.length
    const { characters } = this.#bounds
    if (this.#characters > characters) return `its strings have more than ${characters} characters`
    return text.isWellFormed() ? undefined : "a string has a lone surrogate"
  }

  #elementsOf(array: readonly unknown[], depth: number): string | undefined {
    const tooMany = this.#tooMany(array.length)
    if (tooMany !== undefined) return tooMany
    for (const element of array) {
      const problem = this.value(element, depth)
      if (problem !== undefined) return problem
    }
    return undefined
  }

  #membersOf(object: PlainObject, depth: number): string | undefined {
    const names = Object.keys(object)
    const tooMany = this.#tooMany(names.length)
    if (tooMany !== undefined) return tooMany
    this.#members += names.length
    const { members } = this.#bounds
    if (this.#members > members) return `it has more than ${members} members`
    for (const name of names) {
      const problem = this.#text(name) ?? this.value(object[name], depth)
      if (problem !== undefined) return problem
    }
    return undefined
  }

  #tooMany(more: number): string | undefined {
    const { values } = this.#bounds
    return this.#values + more > values ? `it has more than ${values} values` : undefined
  }
}

/** Made by a literal or by JSON.parse, in whichever realm; a Date or a Map would silently lose what it holds. */
function isPlain(object: object): object is PlainObject {
  const prototype: unknown = Object.getPrototypeOf(object)
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null
}

function numberProblem(value: number): string | undefined {
  return Number.isFinite(value) ? undefined : "a number is not finite"
}

/** Beyond 2^53 two different integers of a JSON text may have become one number: their digests would meet. */
function exactNumberProblem(value: number): string | undefined {
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return "an integer is beyond 2^53"
  return numberProblem(value)
}
