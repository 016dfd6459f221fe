import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test"
import { beforeEach, expect, test, vi } from "vitest"
import { KeyedOperations } from "../../src/ledger/keyed.ts"
import { KeyedRows } from "../../src/ledger/keyed-rows.ts"
import { counted } from "../fixtures/ledger/counted.ts"
import { keyedAttempt, keyedClaimOf, keyedId, RETENTION_SECONDS } from "./keyed-support.ts"
import {
  attempt,
  crashed,
  freshObject,
  HOUR,
  type LedgerObject,
  MINUTE,
  OTHER_INPUT,
  randomBytes,
  rowKey,
  START,
  setClock,
} from "./support.ts"

const LEASE = 30_000
const RETENTION = RETENTION_SECONDS * 1000

let object: LedgerObject
beforeEach(() => {
  setClock(START)
  object = freshObject()
})

const alarmTime = () => runInDurableObject(object, (_, { storage }) => storage.getAlarm())
const rowsIn = ({ sql }: DurableObjectStorage) =>
  ["keyed", "keyed_body"].map((table) => sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${table}`).one().n)
const rows = () => runInDurableObject(object, (_, { storage }) => rowsIn(storage))
const begun = async (id: Uint8Array, changes: Parameters<typeof keyedAttempt>[0] = {}) =>
  keyedClaimOf(await object.begin(id, keyedAttempt(changes)))
const complete = async (id: Uint8Array, body?: Uint8Array) =>
  object.end(id, await begun(id), { outcome: "completed", body })

test("a record lives for its retention after its outcome, to the millisecond", async () => {
  const id = keyedId()
  await complete(id)
  setClock(START + RETENTION - 1)
  await runDurableObjectAlarm(object)
  expect(await object.begin(id, keyedAttempt())).toMatchObject({ status: "recorded", expiresAt: START + RETENTION })
  setClock(START + RETENTION)
  expect(await object.read(id)).toEqual({ status: "absent" })
  expect(await object.begin(id, keyedAttempt({ fingerprint: OTHER_INPUT }))).toMatchObject({
    status: "claimed",
    attempt: 1,
  })
})

test("a lease is never shorter than promised, however short the retention, and an unknown outcome has all of it", async () => {
  const id = keyedId()
  const claim = await begun(id, { leaseSeconds: 900, retentionSeconds: 60 })
  setClock(START + 900_000 - 1)
  await object.renew(id, claim, 900)
  const leaseEndsAt = START + 1_800_000 - 1
  setClock(leaseEndsAt - 1)
  await runDurableObjectAlarm(object)
  expect(await object.begin(id, keyedAttempt())).toMatchObject({ status: "running", leaseEndsAt })
  setClock(leaseEndsAt + 59_999)
  await runDurableObjectAlarm(object)
  expect(await object.read(id)).toMatchObject({ status: "unknown" })
  expect(await object.end(id, claim, { outcome: "completed" })).toMatchObject({ status: "ended" })
  setClock(leaseEndsAt + 59_999 + 59_999)
  await runDurableObjectAlarm(object)
  expect(await object.read(id)).toMatchObject({ status: "recorded" })
  setClock(leaseEndsAt + 59_999 + 60_000)
  expect(await object.read(id)).toEqual({ status: "absent" })
  expect(await object.end(id, claim, { outcome: "completed" })).toEqual({ status: "stale" })
})

test("each further attempt keeps the row for its lease and the whole retention after it", async () => {
  const id = keyedId()
  await object.end(id, await begun(id), { outcome: "rerun" })
  const again = START + RETENTION - 1
  setClock(again)
  expect(await object.begin(id, keyedAttempt({ retentionSeconds: 60 }))).toMatchObject({ attempt: 2 })
  setClock(again + LEASE + RETENTION - 1)
  await runDurableObjectAlarm(object)
  expect(await object.read(id)).toMatchObject({ status: "unknown", attempt: 2 })
})

test("a new life under an old key has nothing of the old one", async () => {
  const id = keyedId()
  const old = await begun(id, { leaseSeconds: 900, retentionSeconds: 60 })
  await object.end(id, old, { outcome: "completed", body: randomBytes(100) })
  setClock(START + MINUTE)
  // Kept until the same moment as the row before it: their results would have the same key.
  const claim = await begun(id, { leaseSeconds: 840, retentionSeconds: 60 })
  expect(await rows()).toEqual([1, 0])
  expect(await object.end(id, old, { outcome: "completed" })).toEqual({ status: "stale" })
  await object.end(id, claim, { outcome: "completed" })
  expect(await object.read(id)).not.toHaveProperty("body")
})

test("rows are swept once they are over, with their results", async () => {
  const [early, late] = [keyedId(), keyedId()]
  await complete(early, randomBytes(10))
  setClock(START + MINUTE)
  await complete(late, randomBytes(10))
  setClock(START + LEASE + RETENTION)
  await runDurableObjectAlarm(object)
  expect(await rows()).toEqual([2, 2])
  setClock(START + LEASE + RETENTION + 1)
  await runDurableObjectAlarm(object)
  expect(await rows()).toEqual([1, 1])
  expect(await object.read(late)).toMatchObject({ status: "recorded" })
})

test("sweeping goes on until nothing is over, a bounded number of rows at a time", async () => {
  await complete(keyedId(), randomBytes(10))
  await runInDurableObject(object, (_, { storage }) => {
    storage.sql.exec(
      `INSERT INTO keyed WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < 1250)
         SELECT randomblob(32), ? + n, 2, ?, x'', randomblob(20), randomblob(16), 0, 60 FROM counted`,
      START,
      START - MINUTE,
    )
    storage.sql.exec(
      "INSERT INTO keyed_body SELECT kept_until, id, randomblob(9) FROM keyed ORDER BY kept_until LIMIT 120",
    )
  })
  const now = START + 10 * MINUTE
  setClock(now)
  const left: (readonly number[])[] = []
  await runInDurableObject(object, async (ledger, { storage }) => {
    vi.spyOn(storage, "sync").mockImplementation(async () => void left.push(rowsIn(storage)))
    await ledger.alarm()
  })
  expect(left).toEqual([
    [751, 71],
    [251, 21],
    [1, 1],
  ])
  expect(await alarmTime()).toBe(now + 15 * MINUTE)
})

test("an object swept empty keeps no table and no alarm, and begins again", async () => {
  const id = keyedId()
  await complete(id, randomBytes(100))
  setClock(START + 2 * HOUR)
  await runDurableObjectAlarm(object)
  await runInDurableObject(object, (_, { storage }) => {
    expect(storage.sql.exec("SELECT name FROM sqlite_master WHERE name LIKE 'keyed%'").toArray()).toEqual([])
    expect(storage.sql.databaseSize).toBeLessThanOrEqual(8192)
  })
  expect(await alarmTime()).toBeNull()

  expect(await object.begin(id, keyedAttempt())).toMatchObject({ status: "claimed", attempt: 1 })
  expect(await alarmTime()).toBe(START + 2 * HOUR + 15 * MINUTE)
  object = await crashed(object)
  expect(await object.begin(id, keyedAttempt())).toMatchObject({ status: "running" })
})

test.for([0, 1, 2, 3])("of attempts that race with a sweep, %d before it, one wins and is kept", async (before) => {
  await complete(keyedId())
  setClock(START + 2 * HOUR)
  const id = keyedId()
  const begin = (count: number) => Array.from({ length: count }, () => object.begin(id, keyedAttempt()))
  const racing = begin(before)
  const sweep = runDurableObjectAlarm(object)
  racing.push(...begin(3 - before))
  await sweep
  const answers = [...(await Promise.all(racing)), await object.begin(id, keyedAttempt())]
  expect(answers.filter(({ status }) => status === "claimed")).toHaveLength(1)
  object = await crashed(object)
  expect(await object.begin(id, keyedAttempt())).toMatchObject({ status: "running" })
})

test("should one object ever have both tables, neither is taken for empty with the other", async () => {
  const [sealed, keyed] = [rowKey(START + 24 * HOUR), keyedId()]
  await object.claim(sealed, attempt())
  await complete(keyed)
  setClock(START + 2 * HOUR)
  await runDurableObjectAlarm(object)
  expect(await object.read(keyed)).toEqual({ status: "absent" })
  expect(await object.lookup(sealed, OTHER_INPUT)).toMatchObject({ status: "unknown" })
})

test("the clock never runs back over swept records", async () => {
  const id = keyedId()
  await complete(id)
  setClock(START + 2 * HOUR)
  await runDurableObjectAlarm(object)
  setClock(START)
  expect(await object.begin(id, keyedAttempt())).toMatchObject({ leaseEndsAt: START + 2 * HOUR + LEASE })
})

test("rows written: two to begin, one to end, one for a result, and nothing for what changes nothing", async () => {
  await runInDurableObject(object, (_, { storage }) => {
    const count = counted(storage)
    const operations = new KeyedOperations(new KeyedRows(count.storage, () => undefined))
    operations.begin(START, keyedId(), keyedAttempt())

    const id = keyedId()
    const mine = keyedAttempt()
    const body = randomBytes(200)
    const begin = count.written(() => operations.begin(START, id, mine))
    const claim = keyedClaimOf(operations.begin(START, id, mine))
    const end = () => operations.end(START + 1, id, claim, { outcome: "completed", body })
    expect({
      begin,
      beginAgain: count.written(() => operations.begin(START, id, mine)),
      beginByOther: count.written(() => operations.begin(START, id, keyedAttempt())),
      end: count.written(end),
      endAgain: count.written(end),
      read: count.written(() => operations.read(START, id)),
    }).toEqual({ begin: 2, beginAgain: 0, beginByOther: 0, end: 2, endAgain: 0, read: 0 })
  })
})

test("an outcome whose result storage refuses is not recorded without it", async () => {
  await runInDurableObject(object, (_, { storage }) => {
    const operations = new KeyedOperations(new KeyedRows(storage, () => undefined))
    const id = keyedId()
    const claim = keyedClaimOf(operations.begin(START, id, keyedAttempt()))
    storage.sql.exec("CREATE TRIGGER full BEFORE INSERT ON keyed_body BEGIN SELECT RAISE(ABORT, 'disk full'); END")
    const ending = { outcome: "completed", body: randomBytes(10) } as const
    expect(() => operations.end(START, id, claim, ending)).toThrow("disk full")
    expect(operations.read(START, id)).toMatchObject({ status: "running" })
  })
})

test("an object written by a later version is refused, not misread", async () => {
  await complete(keyedId())
  await runInDurableObject(object, (_, { storage }) => storage.kv.put("keyed_version", 2))
  object = await crashed(object)
  await runInDurableObject(object, (ledger) => {
    expect(() => ledger.read(keyedId())).toThrow("written by version 2")
  })
})
