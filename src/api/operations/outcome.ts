import { sha256 } from "@noble/hashes/sha2.js"
import type { z } from "zod"
import type { Json } from "../../brands.ts"
import type { KeyedOutcome, KeyedRecorded, OperationKey } from "../../ledger/index.ts"
import { bytesToBase64Url, pae, type ResultBinding, SealError } from "../../seal/index.ts"
import type { ApiParts } from "../call.ts"
import { timeOf } from "../schemas/common.ts"
import type { CompletedBody, FailedBody } from "../schemas/operations.ts"

type OutcomeBody = z.output<typeof CompletedBody> | z.output<typeof FailedBody>

interface Ended {
  readonly outcome: KeyedOutcome
  /** The result or the error; absent where none is kept. */
  readonly value?: Json | undefined
  /** Milliseconds since 1970. */
  readonly at: number
  readonly expiresAt: number
  readonly retryable?: boolean
  readonly replayed: boolean
}

export function outcomeBody({ outcome, value, at, expiresAt, retryable = false, replayed }: Ended): OutcomeBody {
  const kept = { expiresAt: timeOf(expiresAt), replayed }
  if (outcome === "completed") {
    const result = value === undefined ? ({ resultOmitted: true } as const) : { result: value }
    return { status: "completed", ...result, completedAt: timeOf(at), ...kept }
  }
  const error = value === undefined ? ({ errorOmitted: true } as const) : { error: value }
  return { status: "failed", ...error, retryable, failedAt: timeOf(at), ...kept }
}

/** What stands in the record, with its result as far as it was kept and still opens. */
export async function recordedBody(
  { results }: ApiParts,
  key: OperationKey,
  { outcome, body, recordedAt, expiresAt }: KeyedRecorded,
  replayed: boolean,
): Promise<OutcomeBody> {
  const opened = body && (await results.open(boxOf(key), body))
  return outcomeBody({ outcome, value: opened?.ok ? opened.result : undefined, at: recordedAt, expiresAt, replayed })
}

/** The result or error in its box, or word that it is too large to keep. */
export async function boxed(
  { results }: ApiParts,
  key: OperationKey,
  value: Json | undefined,
): Promise<{ readonly body?: Uint8Array; readonly tooLarge: boolean }> {
  if (value === undefined) return { tooLarge: false }
  try {
    return { body: await results.seal(boxOf(key), value), tooLarge: false }
  } catch (error) {
    if (error instanceof SealError && error.code === "invalid_result") return { tooLarge: true }
    throw error
  }
}

/** A box opens for its own operation only. The name is longer than any sealed operation's id. */
function boxOf({ tenant, caller, principal, key }: OperationKey): ResultBinding {
  return { tenant, operation: bytesToBase64Url(sha256(pae("waxseal keyed result v1", caller, principal, key))) }
}
