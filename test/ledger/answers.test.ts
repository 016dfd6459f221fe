import { runInDurableObject } from "cloudflare:test"
import { beforeEach, expect, test } from "vitest"
import { SealedOperations } from "../../src/ledger/sealed.ts"
import type { RowKey } from "../../src/ledger/sealed-rows.ts"
import { SealedRows } from "../../src/ledger/sealed-rows.ts"
import { counted } from "../fixtures/ledger/counted.ts"
import {
  attempt,
  claimOf,
  crashed,
  freshObject,
  HOUR,
  type LedgerObject,
  MINUTE,
  randomBytes,
  rowKey,
  START,
  setClock,
  settlement,
} from "./support.ts"

const YES = randomBytes(16)
const NO = randomBytes(16)
const PASSED = { status: "passed" }
const ALREADY_USED = { status: "already_used" }

let object: LedgerObject
let key: RowKey
beforeEach(() => {
  setClock(START)
  object = freshObject()
  key = rowKey()
})

const answer = (round: number, fingerprint: Uint8Array) => object.answer(key, { round, fingerprint })
const by = (fingerprint: Uint8Array) => attempt({ fingerprint })

test("of twenty different answers to a round one counts, and that one passes again", async () => {
  const answers = Array.from({ length: 20 }, () => randomBytes(16))
  const first = await Promise.all(answers.map((fingerprint) => answer(1, fingerprint)))
  expect(first.filter(({ status }) => status === "passed")).toHaveLength(1)
  expect(first.filter(({ status }) => status === "already_used")).toHaveLength(19)
  expect(await Promise.all(answers.map((fingerprint) => answer(1, fingerprint)))).toEqual(first)
})

test("a later round moves on, and no answer to an earlier one passes any more", async () => {
  expect(await answer(1, YES)).toEqual(PASSED)
  expect(await answer(3, NO)).toEqual(PASSED)
  expect(await answer(1, YES)).toEqual(ALREADY_USED)
  expect(await answer(2, NO)).toEqual(ALREADY_USED)
  expect(await answer(3, YES)).toEqual(ALREADY_USED)
  expect(await answer(3, NO)).toEqual(PASSED)
})

test("only the newest answer claims or settles", async () => {
  await answer(1, YES)
  await answer(2, NO)
  const refused = { status: "running", sameInput: false, leaseEndsAt: START }
  expect(await object.claim(key, by(YES))).toEqual(refused)
  expect(await object.settle(key, settlement("declined", { fingerprint: YES }))).toEqual(refused)
  expect(await object.lookup(key, NO)).toEqual({ status: "absent" })
  const claim = claimOf(await object.claim(key, by(NO)))
  expect(await object.record(key, claim, "completed")).toEqual({ status: "done" })

  key = rowKey()
  await answer(1, YES)
  expect(await object.settle(key, settlement("declined", { fingerprint: YES }))).toMatchObject({ status: "settled" })
})

test("while an attempt runs no round moves on, and its owner's answer is told that it runs", async () => {
  await answer(1, YES)
  const claim = claimOf(await object.claim(key, by(YES)))
  expect(await answer(2, NO)).toMatchObject({ status: "running", sameInput: false })
  expect(await answer(1, YES)).toMatchObject({ status: "running", sameInput: true })
  expect(await object.record(key, claim, "completed")).toEqual({ status: "done" })
})

test("an operation that is given back keeps the answers that were used", async () => {
  await answer(1, NO)
  await answer(2, YES)
  const claim = claimOf(await object.claim(key, by(YES)))
  expect(await object.release(key, claim)).toEqual({ status: "done" })
  expect(await object.release(key, claim)).toEqual({ status: "done" })
  object = await crashed(object)
  expect(await answer(2, NO)).toEqual(ALREADY_USED)
  expect(await object.claim(key, by(NO))).toMatchObject({ status: "running", sameInput: false })
  expect(await answer(2, YES)).toEqual(PASSED)
  expect(await answer(3, NO)).toEqual(PASSED)
  expect(await object.release(key, claim)).toEqual({ status: "done" })
  const next = claimOf(await object.claim(key, by(NO)))
  expect([...next.slice(0, 4)]).toEqual([0, 0, 0, 2])
})

test("an attempt that may run again may be reached by its own answer alone", async () => {
  await answer(1, YES)
  await object.claim(key, { ...by(YES), onLeaseEnd: "rerun" })
  setClock(START + MINUTE)
  expect(await answer(2, NO)).toMatchObject({ status: "running", sameInput: false })
  expect(await answer(1, YES)).toEqual(PASSED)
  expect((await object.claim(key, by(YES))).status).toBe("claimed")
})

test("whatever is recorded, or unknown, is told instead", async () => {
  await object.settle(key, settlement("declined", { fingerprint: NO }))
  expect(await answer(1, YES)).toMatchObject({ status: "recorded", outcome: "declined", sameInput: false })
  expect(await answer(9, NO)).toMatchObject({ status: "recorded", outcome: "declined", sameInput: true })

  key = rowKey()
  await answer(1, YES)
  await object.claim(key, by(YES))
  setClock(START + MINUTE)
  expect(await answer(1, YES)).toMatchObject({ status: "unknown", sameInput: true })
  expect(await answer(2, NO)).toMatchObject({ status: "unknown", sameInput: false })
})

test("past the deadline no answer counts, and none lets an operation begin", async () => {
  await answer(1, YES)
  setClock(key.deadline + 1)
  for (const [round, fingerprint] of [[1, YES] as const, [2, NO] as const])
    expect(await answer(round, fingerprint)).toEqual({ status: "late" })
  for (const fingerprint of [YES, NO]) {
    expect(await object.claim(key, by(fingerprint))).toEqual({ status: "late" })
    expect(await object.settle(key, settlement("declined", { fingerprint }))).toEqual({ status: "late" })
  }
})

test("an answer writes one row, and the same answer or one that is refused writes none", async () => {
  await runInDurableObject(object, (_, { storage }) => {
    const count = counted(storage)
    const operations = new SealedOperations(new SealedRows(count.storage, () => undefined))
    const write = (round: number, fingerprint: Uint8Array) =>
      count.written(() => operations.answer(START, key, { round, fingerprint }))
    write(1, NO)
    expect([write(2, YES), write(2, YES), write(2, NO), write(1, NO), write(3, NO)]).toEqual([1, 0, 0, 0, 1])
  })
})

test("an object of the first version is read as it is, and takes answers", async () => {
  const [completed, released] = [rowKey(START + HOUR), rowKey(START + HOUR)]
  await runInDurableObject(object, (_, { storage }) => {
    storage.sql.exec(VERSION_1)
    storage.kv.put("sealed_version", 1)
    const insert = (key: RowKey, state: number, claim: Uint8Array) =>
      storage.sql.exec(
        "INSERT INTO sealed VALUES (?, ?, ?, ?, ?, ?, ?)",
        key.deadline,
        key.id,
        state,
        START - key.deadline,
        YES,
        randomBytes(16),
        claim,
      )
    insert(completed, 3, new Uint8Array(20))
    insert(released, 2, Uint8Array.of(0, 0, 0, 4, ...randomBytes(16)))
    storage.sql.exec("INSERT INTO sealed_body VALUES (?, ?, ?)", completed.deadline, completed.id, NO)
  })
  object = await crashed(object)
  const recorded = { status: "recorded", outcome: "completed", sameInput: true, recordedAt: START, body: NO }
  expect(await object.lookup(completed, YES)).toEqual(recorded)
  key = released
  expect(await answer(1, NO)).toEqual(PASSED)
  expect(await answer(1, YES)).toEqual(ALREADY_USED)
  const claim = claimOf(await object.claim(released, by(NO)))
  expect([...claim.slice(0, 4)]).toEqual([0, 0, 0, 5])
  object = await crashed(object)
  expect(await object.record(released, claim, "completed")).toEqual({ status: "done" })
})

/** As the first version of the schema made them. */
const VERSION_1 = `
  CREATE TABLE sealed (
    deadline INTEGER NOT NULL,
    id BLOB NOT NULL,
    state INTEGER NOT NULL,
    since_deadline INTEGER NOT NULL,
    fingerprint BLOB NOT NULL,
    attempt BLOB NOT NULL,
    claim BLOB NOT NULL,
    PRIMARY KEY (deadline, id)
  ) WITHOUT ROWID;
  CREATE TABLE sealed_body (
    deadline INTEGER NOT NULL,
    id BLOB NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (deadline, id)
  ) WITHOUT ROWID;`
