import { expect } from "vitest"
import type { BeginAnswer, Claim, KeyedAttempt, OperationKey } from "../../src/ledger/index.ts"
import { attempt, randomBytes } from "./support.ts"

export const RETENTION_SECONDS = 3600

export function keyedId(): Uint8Array {
  return randomBytes(32)
}

export function keyedAttempt(changes: Partial<KeyedAttempt> = {}): KeyedAttempt {
  return { ...attempt(), retentionSeconds: RETENTION_SECONDS, ...changes }
}

export function keyedClaimOf(answer: BeginAnswer): Claim {
  return claimedOf(answer).claim
}

export function claimedOf(answer: BeginAnswer): Extract<BeginAnswer, { status: "claimed" }> {
  if (answer.status !== "claimed") expect.fail(`expected a claim, not ${answer.status}`)
  return answer
}

export function operationKey(changes: Partial<OperationKey> = {}): OperationKey {
  return {
    tenant: "tenant" as OperationKey["tenant"],
    caller: '["issuer","service",null]' as OperationKey["caller"],
    key: crypto.randomUUID(),
    ...changes,
  }
}
