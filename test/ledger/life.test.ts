import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test"
import { beforeEach, expect, test, vi } from "vitest"
import type { RowKey } from "../../src/ledger/sealed-rows.ts"
import {
  attempt,
  claimOf,
  crashed,
  freshObject,
  HOUR,
  type LedgerObject,
  MINUTE,
  OTHER_INPUT,
  rowKey,
  START,
  setClock,
  settlement,
} from "./support.ts"

const AFTERLIFE = HOUR + 2 * MINUTE
const NOTHING_STORED = 4096

let object: LedgerObject
beforeEach(() => {
  setClock(START)
  object = freshObject()
})

const stored = () =>
  runInDurableObject(object, (_, { storage }) => ({
    bytes: storage.sql.databaseSize,
    tables: storage.sql.exec("SELECT name FROM sqlite_master WHERE name LIKE 'sealed%'").toArray().length,
  }))
const alarmTime = () => runInDurableObject(object, (_, { storage }) => storage.getAlarm())
const rowsIn = ({ sql }: DurableObjectStorage) =>
  ["sealed", "sealed_body"].map((table) => sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${table}`).one().n)
const rows = () => runInDurableObject(object, (_, { storage }) => rowsIn(storage))
const complete = async (key: RowKey) => {
  await object.record(key, claimOf(await object.claim(key, attempt())), "completed", new Uint8Array(100))
}

test("a call that writes nothing leaves nothing: lookups, late claims, foreign claims", async () => {
  const claim = claimOf(await freshObject().claim(rowKey(), attempt()))
  await object.lookup(rowKey(), OTHER_INPUT)
  await object.claim(rowKey(START - 1), attempt())
  await object.settle(rowKey(START - 1), settlement())
  await object.record(rowKey(), claim, "completed")
  await object.release(rowKey(), claim)
  expect(await stored()).toEqual({ bytes: NOTHING_STORED, tables: 0 })
  expect(await alarmTime()).toBeNull()
})

test("the first claim sets the alarm and later ones, however they are due, leave it alone", async () => {
  await object.claim(rowKey(START + 24 * HOUR), attempt())
  const first = await alarmTime()
  expect(first).toBe(START + 15 * MINUTE)
  setClock(START + 10 * MINUTE)
  await object.claim(rowKey(START + 11 * MINUTE), attempt())
  await object.claim(rowKey(START + 48 * HOUR), attempt())
  expect(await alarmTime()).toBe(first)
})

test("a row lives for an hour and two minutes after its deadline, and is swept after that", async () => {
  const key = rowKey()
  await complete(key)
  await complete(rowKey(key.deadline + 1))

  setClock(key.deadline + AFTERLIFE)
  await runDurableObjectAlarm(object)
  expect(await object.lookup(key, OTHER_INPUT)).toMatchObject({ outcome: "completed" })
  expect(await rows()).toEqual([2, 2])

  setClock(key.deadline + AFTERLIFE + 1)
  await runDurableObjectAlarm(object)
  expect(await rows()).toEqual([1, 1])
})

test("a late alarm neither hides nor revives a row", async () => {
  const key = rowKey()
  await complete(key)
  setClock(key.deadline + AFTERLIFE)
  expect(await object.claim(key, attempt())).toMatchObject({ outcome: "completed" })
  setClock(key.deadline + AFTERLIFE + 1)
  expect(await object.lookup(key, OTHER_INPUT)).toEqual({ status: "absent" })
  expect(await object.claim(key, attempt())).toEqual({ status: "late" })
  expect(await object.settle(key, settlement())).toEqual({ status: "late" })
  expect(await rows()).toEqual([1, 1])
})

test("the longest lease, claimed at the last moment, is not swept while it lasts", async () => {
  const key = rowKey(START)
  const claim = claimOf(await object.claim(key, attempt({ leaseSeconds: 900 })))
  setClock(START + 900_000 - 1)
  await runDurableObjectAlarm(object)
  expect(await object.lookup(key, OTHER_INPUT)).toMatchObject({ status: "running" })
  expect(await object.record(key, claim, "completed")).toEqual({ status: "done" })
})

/** Of operations whose deadline was a minute after the start. */
async function addOldRows(count: number, bodies: number): Promise<void> {
  await runInDurableObject(object, (_, { storage }) => {
    storage.sql.exec(
      `INSERT INTO sealed WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ?)
         SELECT ?, randomblob(12), 3, 0, randomblob(16), x'', x'', 0 FROM counted`,
      count,
      START + MINUTE,
    )
    storage.sql.exec("INSERT INTO sealed_body SELECT deadline, id, randomblob(50) FROM sealed LIMIT ?", bodies)
  })
}

test("sweeping goes on until nothing is over, a bounded number of rows at a time", async () => {
  await complete(rowKey(START + 24 * HOUR))
  await addOldRows(10_000, 120)
  setClock(START + 2 * HOUR)
  const left: (readonly number[])[] = []
  await runInDurableObject(object, async (ledger, { storage }) => {
    vi.spyOn(storage, "sync").mockImplementation(async () => void left.push(rowsIn(storage)))
    await ledger.alarm()
  })
  expect(left).toEqual([
    [6_001, 71],
    [2_001, 21],
    [1, 1],
  ])
  expect(await alarmTime()).toBe(START + 2 * HOUR + 15 * MINUTE)
})

test("a sweep that would take long goes on in the next alarm", async () => {
  await complete(rowKey(START + 24 * HOUR))
  await addOldRows(5_200, 5_200)
  setClock(START + 2 * HOUR)
  await runDurableObjectAlarm(object)
  expect(await rows()).toEqual([1, 201])
  expect(await alarmTime()).toBe(START + 2 * HOUR + 5)
  await runDurableObjectAlarm(object)
  expect(await rows()).toEqual([1, 1])
  expect(await alarmTime()).toBe(START + 2 * HOUR + 15 * MINUTE)
})

test("calls are answered between the slices of a sweep", async () => {
  await complete(rowKey(START + 24 * HOUR))
  await addOldRows(40_000, 0)
  setClock(START + 2 * HOUR)
  const left = await runInDurableObject(object, async (ledger, { storage }) => {
    const sweep = ledger.alarm()
    expect((await ledger.claim(rowKey(), attempt())).status).toBe("claimed")
    const [rows] = rowsIn(storage)
    await sweep
    return rows
  })
  expect(left).toBeGreaterThan(20_000)
})

test("an object swept empty keeps no table, no alarm, and at most 8 KiB", async () => {
  const key = rowKey()
  await complete(key)
  setClock(key.deadline + AFTERLIFE + 1)
  await runDurableObjectAlarm(object)
  expect(await stored()).toEqual({ bytes: expect.toSatisfy((bytes) => bytes <= 8192), tables: 0 })
  expect(await alarmTime()).toBeNull()
})

test("an instance that was swept empty claims again, and its tables are swept again", async () => {
  const key = rowKey()
  await complete(key)
  setClock(key.deadline + AFTERLIFE + 1)
  await runDurableObjectAlarm(object)

  const next = rowKey()
  expect((await object.claim(next, attempt())).status).toBe("claimed")
  expect((await object.claim(next, attempt())).status).toBe("running")
  expect(await alarmTime()).toBe(Date.now() + 15 * MINUTE)
  object = await crashed(object)
  expect(await object.claim(next, attempt())).toMatchObject({ status: "running" })
})

test("a claim in the very next turn after the object was found empty is kept", async () => {
  const old = rowKey()
  await complete(old)
  setClock(old.deadline + AFTERLIFE + 1)
  const key = rowKey()
  await runInDurableObject(object, async (ledger) => {
    const sweep = ledger.alarm()
    expect(await ledger.claim(key, attempt())).toMatchObject({ status: "claimed" })
    await sweep
    await scheduler.wait(20)
  })
  expect(await object.claim(key, attempt())).toMatchObject({ status: "running" })
  object = await crashed(object)
  expect(await object.claim(key, attempt())).toMatchObject({ status: "running" })
})

test.for([0, 1, 2, 3])("of claims that race with a sweep, %d before it, one wins and is kept", async (before) => {
  const old = rowKey()
  await complete(old)
  setClock(old.deadline + AFTERLIFE + 1)
  const key = rowKey()
  const claims = (count: number) => Array.from({ length: count }, () => object.claim(key, attempt()))
  const racing = claims(before)
  const sweep = runDurableObjectAlarm(object)
  racing.push(...claims(3 - before))
  await sweep
  const answers = [...(await Promise.all(racing)), await object.claim(key, attempt())]
  expect(answers.filter(({ status }) => status === "claimed")).toHaveLength(1)
  object = await crashed(object)
  expect(await object.claim(key, attempt())).toMatchObject({ status: "running" })
})

test("the clock never runs back over swept rows, also after a restart and in an empty object", async () => {
  const spent = rowKey()
  await complete(spent)
  setClock(spent.deadline + AFTERLIFE + 1)
  await runDurableObjectAlarm(object)
  setClock(START)
  expect(await object.claim(spent, attempt())).toEqual({ status: "late" })
  object = await crashed(object)
  expect(await object.claim(spent, attempt())).toEqual({ status: "late" })
})

test("a sweep that fails leaves the next one set", async () => {
  await complete(rowKey())
  await runInDurableObject(object, (_, { storage }) => void storage.sql.exec("ALTER TABLE sealed RENAME TO broken"))
  setClock(START + 2 * HOUR)
  await expect(runDurableObjectAlarm(object)).rejects.toThrow("no such table")
  expect(await alarmTime()).toBe(START + 2 * HOUR + 15 * MINUTE)
})

test("an object written by a later version is refused, not misread", async () => {
  await complete(rowKey())
  await runInDurableObject(object, (_, { storage }) => storage.kv.put("sealed_version", 3))
  object = await crashed(object)
  await runInDurableObject(object, (ledger) => {
    expect(() => ledger.lookup(rowKey(), OTHER_INPUT)).toThrow("written by version 3")
  })
})
