import { expect, it } from "vitest"
import { boxed, recordedBody } from "../../src/api/operations/outcome.ts"
import type { Principal, TenantId } from "../../src/brands.ts"
import type { OperationKey } from "../../src/ledger/index.ts"
import { stage } from "./stage.ts"

const OWN: OperationKey = {
  tenant: "claim:acme" as TenantId,
  caller: "server" as Principal,
  principal: "alice",
  key: "order-7",
}

it.for<[what: string, changes: Partial<OperationKey>]>([
  ["tenant", { tenant: "claim:globex" as TenantId }],
  ["caller", { caller: "another" as Principal }],
  ["principal", { principal: "bob" }],
  ["principal, and there is none", { principal: undefined }],
  ["key", { key: "order-8" }],
])("a stored result opens for its own operation, and not where it is another %s", async ([, changes]) => {
  const { parts } = stage()
  const { body } = await boxed(parts, OWN, { invoice: 1 })
  if (!body) expect.fail("The result must be kept.")
  const recorded = {
    status: "recorded",
    attempt: 1,
    outcome: "completed",
    body,
    recordedAt: 0,
    expiresAt: 1,
    sameInput: true,
  } as const
  expect(await recordedBody(parts, OWN, recorded, true)).toMatchObject({ result: { invoice: 1 } })
  expect(await recordedBody(parts, { ...OWN, ...changes }, recorded, true)).toMatchObject({ resultOmitted: true })
})
