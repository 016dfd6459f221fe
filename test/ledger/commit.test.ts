import { runInDurableObject } from "cloudflare:test"
import { expect, test } from "vitest"
import { GroupCommit } from "../../src/ledger/commit.ts"
import { SealedOperations } from "../../src/ledger/sealed.ts"
import { SealedRows } from "../../src/ledger/sealed-rows.ts"
import { freshObject, OTHER_INPUT, rowKey, settlement } from "./support.ts"

/** Flushes one by one, when the test says so. */
function flushes() {
  const pending: (() => void)[] = []
  return {
    flushed: () => new Promise<void>((resolve) => void pending.push(resolve)),
    async finishOne() {
      pending.shift()?.()
      await new Promise((resolve) => setTimeout(resolve, 0))
    },
    begun: () => pending.length,
  }
}

test("the first decision is made at once; what arrives during its flush is decided in one turn, in order", async () => {
  const { flushed, finishOne, begun } = flushes()
  const commits = new GroupCommit(flushed)
  const seen: string[] = []
  const decide = (name: string) =>
    commits.run(() => {
      seen.push(name)
      queueMicrotask(() => seen.push(`after ${name}`))
      return name
    })
  expect(await decide("first")).toBe("first")
  expect(seen).toEqual(["first", "after first"])

  const waiting = [decide("second"), decide("third")]
  await null
  expect(seen).toHaveLength(2)
  await finishOne()
  expect(await Promise.all(waiting)).toEqual(["second", "third"])
  expect(seen.slice(2)).toEqual(["second", "third", "after second", "after third"])
  expect(begun()).toBe(1)

  await finishOne()
  expect(begun()).toBe(0)
  expect(await decide("fourth")).toBe("fourth")
})

test("a decision that fails fails alone, and a flush that fails holds nobody up", async () => {
  const commits = new GroupCommit(() => Promise.reject(new Error("disk full")))
  const fails = () => {
    throw new Error("this one")
  }
  const calls = [commits.run(() => 1), commits.run(fails), commits.run(() => 3)]
  expect(await Promise.allSettled(calls)).toMatchObject([{ value: 1 }, { reason: new Error("this one") }, { value: 3 }])
})

test("an outcome whose result storage refuses is not recorded without it", async () => {
  await runInDurableObject(freshObject(), (_, { storage }) => {
    const operations = new SealedOperations(new SealedRows(storage, () => undefined))
    operations.settle(Date.now(), rowKey(), settlement())
    storage.sql.exec("CREATE TRIGGER full BEFORE INSERT ON sealed_body BEGIN SELECT RAISE(ABORT, 'disk full'); END")
    const key = rowKey()
    const withResult = settlement("completed", { body: new Uint8Array(10) })
    expect(() => operations.settle(Date.now(), key, withResult)).toThrow("disk full")
    expect(operations.lookup(Date.now(), key, OTHER_INPUT)).toEqual({ status: "absent" })
  })
})
