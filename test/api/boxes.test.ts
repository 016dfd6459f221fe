// The box of a stored result opens for its own operation only: whoever moves one in the store shows nobody anything.
import { expect, test } from "vitest"
import type { OperationKey } from "../../src/ledger/index.ts"
import { stage } from "./stage.ts"

const BEGIN = { fingerprint: "three" }

/** The API on a store in which one operation's record lies in the place of all others. */
function stageWithRecordOf(changes: Partial<OperationKey>) {
  const { keyedLedger } = stage().parts
  return stage({ keyedLedger: { ...keyedLedger, read: (key) => keyedLedger.read({ ...key, ...changes }) } })
}

test.each([
  ["principal", { key: "boxes-1", principal: "alice" }, { key: "boxes-1", principal: "bob" }],
  ["principal, where it has none", { key: "boxes-2" }, { key: "boxes-2", principal: "bob" }],
  ["key", { key: "boxes-3", principal: "alice" }, { key: "boxes-4", principal: "alice" }],
])("not for another %s", async (_what, { key, ...named }, other) => {
  const { call } = stage()
  const { claim } = (await call(`/operations/${key}/begin`, { ...BEGIN, ...named })).body
  await call(`/operations/${key}/complete`, { claim, result: "secret", ...named })
  const read = ({ key, principal }: { key: string; principal?: string }) =>
    `/operations/${key}${principal === undefined ? "" : `?principal=${principal}`}`
  expect((await call(read({ key, ...named }))).body).toMatchObject({ result: "secret" })
  const moved = stageWithRecordOf({ key, principal: undefined, ...named } as Partial<OperationKey>)
  const { body } = await moved.call(read(other))
  expect(body).toMatchObject({ status: "completed", resultOmitted: true })
  expect(body).not.toHaveProperty("result")
})
