import type { OperationId } from "../brands.ts"
import { base64UrlToBytes, bytesToBase64Url } from "./base64url.ts"
import { BitReader, type BitWriter, LayoutError, writeBits } from "./bits.ts"
import type { Bytes } from "./bytes.ts"
import { SealError } from "./errors.ts"
import { stateProblem } from "./json.ts"
import { HIGHEST_ROUND, LONGEST_DEADLINE_SECONDS, LONGEST_TTL_SECONDS } from "./limits.ts"
import { readState, writeState } from "./state.ts"
import type { Contents, Draft, Home } from "./types.ts"

const OPERATION_BYTES = 12
/** Whole groups of three bytes: the characters of a beginning are the beginning of the characters. */
const OPERATION_CHARACTERS = 16
const ASKED_BYTES = 8
const ROUND_BITS = 5
const HIGHEST_REGION = 0xff
const HIGHEST_SHARD = 0xffff
/** 48 bits of milliseconds: the year 10889. */
const LATEST_TIME = 2 ** 48 - 1
const NO_BYTES = new Uint8Array(0)

type Writable<T> = { -readonly [Member in keyof T]: T[Member] }

/** The id of the operation that a token with this nonce begins. */
export function operationOf(nonce: Uint8Array): OperationId {
  return bytesToBase64Url(nonce).slice(0, OPERATION_CHARACTERS) as OperationId
}

/** Throws `SealError` for a draft that `readBody` would not give back. */
export function checkDraft(draft: Draft): void {
  const problem = draftProblem(draft)
  if (problem !== undefined) throw new SealError("invalid_draft", problem)
  const unfit = stateProblem(draft.state)
  if (unfit !== undefined) throw new SealError("invalid_state", `The state cannot be sealed: ${unfit}.`)
}

/** Writes a checked draft; the expiry is in the header. */
export function writeBody(draft: Draft): Bytes {
  const { operation, asked, roundLimit, round, home, issuedAt, expiresAt, deadline, state } = draft
  return writeBits((to) => {
    to.flag(operation !== undefined)
    to.flag(asked !== undefined)
    to.flag(roundLimit !== undefined)
    to.bits(round, ROUND_BITS)
    if (roundLimit !== undefined) to.bits(roundLimit, ROUND_BITS)
    to.number(home.region)
    to.number(home.shard)
    writeDuration(to, expiresAt - issuedAt)
    writeDuration(to, deadline - expiresAt)
    if (operation !== undefined) to.bytes(operationBytes(operation))
    if (asked !== undefined) to.bytes(asked)
    writeState(to, state)
  })
}

/** Reads what `writeBody` wrote, for a token that began with this nonce; `undefined` for anything else. */
export function readBody(body: Uint8Array, nonce: Uint8Array, expiresAt: number): Contents | undefined {
  try {
    const contents = readContents(new BitReader(body), nonce, expiresAt)
    return draftProblem(contents) === undefined ? contents : undefined
  } catch (error) {
    if (error instanceof LayoutError) return undefined
    throw error
  }
}

function readContents(from: BitReader, nonce: Uint8Array, expiresAt: number): Contents {
  const hasOperation = from.flag()
  const hasAsked = from.flag()
  const hasRoundLimit = from.flag()
  const round = from.bits(ROUND_BITS)
  const roundLimit = hasRoundLimit ? from.bits(ROUND_BITS) : undefined
  const home = { region: from.number(), shard: from.number() }
  const issuedAt = expiresAt - readDuration(from)
  const deadline = expiresAt + readDuration(from)
  const operation = operationOf(hasOperation ? from.bytes(OPERATION_BYTES) : nonce)
  const asked = hasAsked ? from.bytes(ASKED_BYTES) : undefined
  const state = readState(from)
  from.finish()

  const contents: Writable<Contents> = { operation, round, issuedAt, expiresAt, deadline, home, state }
  if (roundLimit !== undefined) contents.roundLimit = roundLimit
  if (asked) contents.asked = asked
  return contents
}

/** A flag says whether the number counts milliseconds; whole seconds are always written as seconds. */
function writeDuration(to: BitWriter, milliseconds: number): void {
  const wholeSeconds = milliseconds % 1_000 === 0
  to.flag(!wholeSeconds)
  to.number(wholeSeconds ? milliseconds / 1_000 : milliseconds)
}

function readDuration(from: BitReader): number {
  const inMilliseconds = from.flag()
  const value = from.number()
  if (!inMilliseconds) return value * 1_000
  if (value % 1_000 === 0) throw new LayoutError("Whole seconds are written as milliseconds.")
  return value
}

function draftProblem(draft: Draft): string | undefined {
  return timeProblem(draft) ?? roundProblem(draft) ?? homeProblem(draft.home) ?? idProblem(draft)
}

function timeProblem({ issuedAt, expiresAt, deadline }: Draft): string | undefined {
  if (!isWithin(issuedAt, 0, LATEST_TIME)) return "issuedAt is not a time in whole milliseconds."
  if (!isWithin(expiresAt, issuedAt + 1, issuedAt + LONGEST_TTL_SECONDS * 1_000)) {
    return `expiresAt is not within ${LONGEST_TTL_SECONDS} seconds after issuedAt.`
  }
  if (!isWithin(deadline, expiresAt, issuedAt + LONGEST_DEADLINE_SECONDS * 1_000)) {
    return `deadline is before expiresAt, or more than ${LONGEST_DEADLINE_SECONDS} seconds after issuedAt.`
  }
  return deadline <= LATEST_TIME ? undefined : "deadline is later than a token can say."
}

function roundProblem({ round, roundLimit = HIGHEST_ROUND }: Draft): string | undefined {
  if (!isWithin(roundLimit, 1, HIGHEST_ROUND)) return `roundLimit is not a whole number from 1 to ${HIGHEST_ROUND}.`
  return isWithin(round, 1, roundLimit) ? undefined : `round is not a whole number from 1 to ${roundLimit}.`
}

function homeProblem({ region, shard }: Home): string | undefined {
  const valid = isWithin(region, 0, HIGHEST_REGION) && isWithin(shard, 0, HIGHEST_SHARD)
  return valid ? undefined : `home is not a region up to ${HIGHEST_REGION} and a shard up to ${HIGHEST_SHARD}.`
}

function idProblem({ operation, asked }: Draft): string | undefined {
  if (operation !== undefined && operationBytes(operation).length !== OPERATION_BYTES) {
    return `operation is not ${OPERATION_BYTES} bytes in base64url.`
  }
  return asked === undefined || asked.length === ASKED_BYTES ? undefined : `asked is not ${ASKED_BYTES} bytes.`
}

function operationBytes(operation: OperationId): Uint8Array {
  return base64UrlToBytes(operation) ?? NO_BYTES
}

function isWithin(value: number, lowest: number, highest: number): boolean {
  return Number.isInteger(value) && lowest <= value && value <= highest
}
