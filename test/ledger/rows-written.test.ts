import { runInDurableObject } from "cloudflare:test"
import { expect, test } from "vitest"
import { KeyedOperations } from "../../src/ledger/keyed.ts"
import { KeyedRows } from "../../src/ledger/keyed-rows.ts"
import { SealedOperations } from "../../src/ledger/sealed.ts"
import { SealedRows } from "../../src/ledger/sealed-rows.ts"
import { counted } from "../fixtures/ledger/counted.ts"
import { keyedAttempt, keyedClaimOf, keyedId } from "./keyed-support.ts"
import { attempt, claimOf, freshObject, OTHER_INPUT, rowKey, settlement } from "./support.ts"

test("rows written: one to spend an operation, one more to record its outcome, one for its result", async () => {
  await runInDurableObject(freshObject(), (_, { storage }) => {
    const count = counted(storage)
    const operations = new SealedOperations(new SealedRows(count.storage, () => undefined))
    const now = Date.now()
    operations.claim(now, rowKey(), attempt())

    const key = rowKey()
    const mine = attempt()
    const claimed = operations.claim(now, key, mine)
    const body = new Uint8Array(200)
    expect({
      claim: count.written(() => operations.claim(now, rowKey(), attempt())),
      settle: count.written(() => operations.settle(now, rowKey(), settlement("completed"))),
      claimAgain: count.written(() => operations.claim(now, key, mine)),
      claimedByOther: count.written(() => operations.claim(now, key, attempt())),
      record: count.written(() => operations.record(now, key, claimOf(claimed), "completed", body)),
      recordAgain: count.written(() => operations.record(now, key, claimOf(claimed), "completed", body)),
      lookup: count.written(() => operations.lookup(now, key, OTHER_INPUT)),
    }).toEqual({ claim: 1, settle: 1, claimAgain: 0, claimedByOther: 0, record: 2, recordAgain: 0, lookup: 0 })
  })
})

test("rows written by a sweep, which are billed too: one for each row and each result that goes", async () => {
  await runInDurableObject(freshObject(), (_, { storage }) => {
    const count = counted(storage)
    const rows = new SealedRows(count.storage, () => undefined)
    const operations = new SealedOperations(rows)
    const now = Date.now()
    const key = rowKey(now + 1_000)
    operations.settle(now, rowKey(now + 1_000), settlement("completed"))
    operations.record(now, key, claimOf(operations.claim(now, key, attempt())), "completed", new Uint8Array(200))
    expect(count.written(() => rows.sweep(now + 2_000))).toBe(1 + 2)

    const keyedRows = new KeyedRows(count.storage, () => undefined)
    const keyed = new KeyedOperations(keyedRows)
    const id = keyedId()
    const claim = keyedClaimOf(keyed.begin(now, id, keyedAttempt({ retentionSeconds: 60 })))
    keyed.end(now, id, claim, { outcome: "completed", body: new Uint8Array(200) })
    expect(count.written(() => keyedRows.sweep(now + 3_600_000))).toBe(2)
  })
})

test("bytes on disk: at most 64 to spend an operation, at most 180 for one with a claim besides its result", async () => {
  await runInDurableObject(freshObject(), (_, { storage }) => {
    const operations = new SealedOperations(new SealedRows(storage, () => undefined))
    const now = Date.now()
    const bytesEach = (count: number, work: (deadline: number) => void) => {
      work(now)
      const before = storage.sql.databaseSize
      for (let index = 1; index <= count; index++) work(now + 1000 + index)
      return (storage.sql.databaseSize - before) / count
    }
    expect(bytesEach(10_000, (at) => operations.settle(now, rowKey(at), settlement("completed")))).toBeLessThan(64)
    const body = new Uint8Array(100)
    const run = (deadline: number) => {
      const key = rowKey(deadline + 100_000)
      operations.record(now, key, claimOf(operations.claim(now, key, attempt())), "completed", body)
    }
    expect(bytesEach(10_000, run)).toBeLessThan(180 + body.length)
  })
})
