import { expect, test } from "vitest"
import {
  attempt,
  claimOf,
  freshObject,
  MINUTE,
  OTHER_INPUT,
  randomBytes,
  rowKey,
  START,
  setClock,
  settlement,
} from "./support.ts"

const RESULT = new TextEncoder().encode("encrypted result")

test("of twenty parallel attempts one claims and the others are told that it runs", async () => {
  const object = freshObject()
  const key = rowKey()
  const answers = await Promise.all(Array.from({ length: 20 }, () => object.claim(key, attempt())))
  expect(answers.filter(({ status }) => status === "claimed")).toHaveLength(1)
  expect(answers.filter(({ status }) => status === "running")).toHaveLength(19)
})

test("of twenty parallel calls that settle with the same input one has settled", async () => {
  const object = freshObject()
  const key = rowKey()
  const answers = await Promise.all(Array.from({ length: 20 }, () => object.settle(key, settlement())))
  expect(answers.filter(({ status }) => status === "settled")).toHaveLength(1)
  expect(answers.filter((answer) => answer.status === "recorded" && answer.sameInput)).toHaveLength(19)
})

test("operations with the same id and another deadline, or the same deadline and another id, are apart", async () => {
  const object = freshObject()
  const key = rowKey()
  for (const other of [key, { ...key, deadline: key.deadline + 1 }, { ...key, id: randomBytes(12) }])
    expect((await object.claim(other, attempt())).status).toBe("claimed")
})

test("the same attempt gets the same claim again, and another attempt does not", async () => {
  const object = freshObject()
  const key = rowKey()
  const mine = attempt()
  const first = await object.claim(key, mine)
  expect(await object.claim(key, mine)).toEqual(first)
  expect((await object.claim(key, attempt())).status).toBe("running")
  expect((await object.claim(key, { ...mine, fingerprint: OTHER_INPUT })).status).toBe("running")
})

test("a recorded outcome is final, and read by everyone with its body", async () => {
  setClock(START)
  const object = freshObject()
  const key = rowKey()
  const mine = attempt()
  const claim = claimOf(await object.claim(key, mine))
  expect(await object.record(key, claim, "completed", RESULT)).toEqual({ status: "done" })

  setClock(START + MINUTE)
  const recorded = { status: "recorded", outcome: "completed", sameInput: true, body: RESULT, recordedAt: START }
  expect(await object.claim(key, mine)).toEqual(recorded)
  expect(await object.claim(key, attempt())).toEqual(recorded)
  expect(await object.lookup(key, mine.fingerprint)).toEqual(recorded)
  expect(await object.settle(key, settlement())).toEqual({ ...recorded, sameInput: false })
  expect(await object.record(key, claim, "failed")).toEqual({ status: "superseded" })
  expect(await object.release(key, claim)).toEqual({ status: "superseded" })
  expect(await object.lookup(key, OTHER_INPUT)).toEqual({ ...recorded, sameInput: false })
})

test("the owner may record the same outcome again; what was recorded first stays", async () => {
  const object = freshObject()
  const key = rowKey()
  const claim = claimOf(await object.claim(key, attempt()))
  await object.record(key, claim, "completed", RESULT)
  expect(await object.record(key, claim, "completed", randomBytes(5))).toEqual({ status: "done" })
  expect(await object.lookup(key, attempt().fingerprint)).toMatchObject({ body: RESULT })
})

test("an empty body is a body, and none is none", async () => {
  const object = freshObject()
  const [key, bare] = [rowKey(), rowKey()]
  await object.settle(key, settlement("completed", { body: new Uint8Array() }))
  await object.settle(bare, settlement("completed"))
  expect(await object.lookup(key, OTHER_INPUT)).toHaveProperty("body", new Uint8Array())
  expect(await object.lookup(bare, OTHER_INPUT)).not.toHaveProperty("body")
})

test("only the current claim records or releases", async () => {
  const object = freshObject()
  const key = rowKey()
  const stale = claimOf(await object.claim(key, attempt()))
  await object.release(key, stale)
  const current = claimOf(await object.claim(key, attempt({ fingerprint: OTHER_INPUT })))
  const forged = current.slice()
  forged[19] = Number(forged[19]) ^ 1
  for (const claim of [stale, forged as typeof stale]) {
    expect(await object.record(key, claim, "completed")).toEqual({ status: "superseded" })
    expect(await object.release(key, claim)).toEqual({ status: "superseded" })
  }
  expect(await object.record(rowKey(), current, "completed")).toEqual({ status: "superseded" })
  expect(await object.record(key, current, "completed")).toEqual({ status: "done" })
})

test("a released operation is free for any input, with the next fence", async () => {
  const object = freshObject()
  const key = rowKey()
  const first = claimOf(await object.claim(key, attempt()))
  expect(await object.release(key, first)).toEqual({ status: "done" })
  expect(await object.release(key, first)).toEqual({ status: "done" })
  expect(await object.record(key, first, "completed")).toEqual({ status: "superseded" })
  expect(await object.lookup(key, OTHER_INPUT)).toEqual({ status: "absent" })

  const second = claimOf(await object.claim(key, attempt({ fingerprint: OTHER_INPUT })))
  expect([...second.slice(0, 4)]).toEqual([0, 0, 0, 2])
  expect(await object.lookup(key, OTHER_INPUT)).toMatchObject({ status: "running", sameInput: true })
})

test("settling takes one call, and says what stands when something does", async () => {
  setClock(START)
  const object = freshObject()
  const key = rowKey()
  const mine = settlement("declined", { body: RESULT })
  expect(await object.settle(key, mine)).toEqual({ status: "settled", recordedAt: START })
  expect(await object.settle(key, mine)).toEqual({ status: "settled", recordedAt: START })

  setClock(START + MINUTE)
  const declined = { status: "recorded", outcome: "declined", sameInput: true, recordedAt: START, body: RESULT }
  expect(await object.settle(key, settlement("declined"))).toEqual(declined)
  const otherInput = { fingerprint: attempt().fingerprint }
  expect(await object.settle(key, settlement("cancelled", otherInput))).toEqual({ ...declined, sameInput: false })
  expect(await object.claim(key, attempt())).toEqual({ ...declined, sameInput: false })
  expect(await object.settle(key, mine)).toEqual({ status: "settled", recordedAt: START })

  const running = rowKey()
  await object.claim(running, attempt())
  expect(await object.settle(running, settlement())).toMatchObject({ status: "running", sameInput: false })

  const released = rowKey()
  const claim = claimOf(await object.claim(released, attempt()))
  await object.release(released, claim)
  expect(await object.settle(released, settlement())).toMatchObject({ status: "settled" })
  expect(await object.record(released, claim, "declined")).toEqual({ status: "superseded" })
})

test("a claim and a decline that race have one winner", async () => {
  const object = freshObject()
  const races = Array.from({ length: 50 }, async () => {
    const key = rowKey()
    const claiming = () => object.claim(key, attempt())
    const settling = () => object.settle(key, settlement())
    const calls = Number(randomBytes(1)[0]) % 2 === 0 ? [claiming(), settling()] : [settling(), claiming()]
    const answers = await Promise.all(calls)
    return answers.filter(({ status }) => status === "claimed" || status === "settled").length
  })
  expect(new Set(await Promise.all(races))).toEqual(new Set([1]))
})

test("nothing begins past the deadline by the object's clock; what began before may still be recorded", async () => {
  setClock(START)
  const object = freshObject()
  const [untouched, begun, released] = [rowKey(), rowKey(), rowKey()]
  const claim = claimOf(await object.claim(begun, attempt()))
  await object.release(released, claimOf(await object.claim(released, attempt())))

  setClock(untouched.deadline)
  expect((await object.claim(rowKey(untouched.deadline), attempt())).status).toBe("claimed")

  setClock(untouched.deadline + 1)
  for (const key of [untouched, released]) {
    expect(await object.claim(key, attempt())).toEqual({ status: "late" })
    expect(await object.settle(key, settlement())).toEqual({ status: "late" })
    expect(await object.lookup(key, OTHER_INPUT)).toEqual({ status: "absent" })
  }
  expect(await object.record(begun, claim, "completed")).toEqual({ status: "done" })
  expect(await object.claim(begun, attempt())).toMatchObject({ status: "recorded" })
})
