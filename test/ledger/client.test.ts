import { listDurableObjectIds } from "cloudflare:test"
import { env } from "cloudflare:workers"
import { beforeEach, expect, test, vi } from "vitest"
import type { TenantId } from "../../src/brands.ts"
import {
  createLedgerClient,
  type LedgerNamespace,
  LedgerOverloaded,
  type LedgerStub,
  LedgerUnavailable,
  LONGEST_BODY_BYTES,
  type RecordKey,
} from "../../src/ledger/index.ts"
import { attempt, claimOf, OTHER_INPUT, randomBytes, recordKey } from "./support.ts"

const tenant = (name: string) => name as TenantId
const ledger = createLedgerClient({ namespace: env.LEDGER, purpose: "mcp", jurisdictions: new Map() })

test("an operation goes from claim to its recorded result through one object", async () => {
  const key = recordKey()
  const mine = attempt()
  const claimed = await ledger.claim(key, mine)
  const body = randomBytes(100)
  expect(await ledger.lookup(key, mine.fingerprint)).toMatchObject({ status: "running" })
  expect(await ledger.record(key, claimOf(claimed), "completed", body)).toEqual({ status: "done" })
  expect(await ledger.claim(key, attempt())).toMatchObject({ status: "recorded", outcome: "completed", body })
  expect(await ledger.settle(key, "declined", OTHER_INPUT)).toMatchObject({ outcome: "completed", sameInput: false })

  const other = recordKey()
  expect(await ledger.release(other, claimOf(await ledger.claim(other, mine)))).toEqual({ status: "done" })
  expect(await ledger.lookup(other, OTHER_INPUT)).toEqual({ status: "absent" })
})

test("a second replica finishes what the first began", async () => {
  const replica = createLedgerClient({ namespace: env.LEDGER, purpose: "mcp", jurisdictions: new Map() })
  const key = recordKey()
  const claim = claimOf(await ledger.claim(key, attempt()))
  expect((await replica.claim(key, attempt())).status).toBe("running")
  expect(await replica.record(key, claim, "completed")).toEqual({ status: "done" })
  expect((await ledger.claim(key, attempt())).status).toBe("recorded")
})

test("10,000 racing redemptions of 1,000 operations, over branches, shards and replicas: 1,000 winners", async () => {
  const replicas = [ledger, createLedgerClient({ namespace: env.LEDGER, purpose: "mcp", jurisdictions: new Map() })]
  const redeem = async (key: RecordKey, caller: number) => {
    const branch = new Uint8Array(16).fill(caller % 3)
    const answer = await replicas[caller % 2]?.settle(key, "completed", branch)
    return answer?.status === "settled" ? [key] : []
  }
  const winners: RecordKey[] = []
  for (let group = 0; group < 10; group++) {
    const keys = Array.from({ length: 100 }, (_, index) => recordKey({ home: { region: 1, shard: index % 4 } }))
    const racers = Array.from({ length: 10 }, (_, caller) => keys.map((key) => redeem(key, caller)))
    winners.push(...(await Promise.all(racers.flat())).flat())
  }
  expect(winners).toHaveLength(1000)
  expect(new Set(winners).size).toBe(1000)
}, 60_000)

test("purpose, tenant, region and shard each name another object; id and deadline do not", async () => {
  const key = recordKey()
  const api = createLedgerClient({ namespace: env.LEDGER, purpose: "api", jurisdictions: new Map() })
  const before = new Set((await listDurableObjectIds(env.LEDGER)).map(String))
  const elsewhere = [
    recordKey({ ...key, tenant: tenant("other tenant") }),
    recordKey({ ...key, home: { region: 2, shard: 3 } }),
    recordKey({ ...key, home: { region: 1, shard: 4 } }),
    recordKey({ ...key, home: { region: 11, shard: 1 } }),
    recordKey({ ...key, home: { region: 1, shard: 11 } }),
    recordKey({ ...key, home: { region: 255, shard: 65_535 } }),
  ]
  for (const place of elsewhere) expect((await ledger.claim(place, attempt())).status).toBe("claimed")
  expect((await api.claim(key, attempt())).status).toBe("claimed")
  const after = await listDurableObjectIds(env.LEDGER)
  expect(after.filter((id) => !before.has(String(id)))).toHaveLength(elsewhere.length + 1)

  await ledger.claim(recordKey({ ...key, deadline: key.deadline + 1 }), attempt())
  await ledger.claim(recordKey({ home: key.home }), attempt())
  expect((await listDurableObjectIds(env.LEDGER)).length - after.length).toBeLessThanOrEqual(1)
})

test("what breaks a stated limit is refused before anything is called", async () => {
  const key = recordKey()
  const claim = claimOf(await ledger.claim(recordKey(), attempt()))
  const tooLong = new Uint8Array(LONGEST_BODY_BYTES + 1)
  const refused = [
    () => ledger.claim(key, attempt({ attempt: randomBytes(15) })),
    () => ledger.claim(key, attempt({ fingerprint: randomBytes(17) })),
    ...[-1, 26, 0.5].map((waitSeconds) => () => ledger.claim(key, attempt(), waitSeconds)),
    () => ledger.answer(key, { round: 1, fingerprint: randomBytes(15) }),
    ...[0, 901, 1.5, Number.NaN].map((leaseSeconds) => () => ledger.claim(key, attempt({ leaseSeconds }))),
    () => ledger.lookup(key, new Uint8Array()),
    () => ledger.settle(key, "declined", randomBytes(15)),
    () => ledger.settle(key, "declined", OTHER_INPUT, tooLong),
    () => ledger.record(key, claim, "completed", tooLong),
    () => ledger.lookup(recordKey({ operation: "AAAA" as typeof key.operation }), OTHER_INPUT),
    () => ledger.lookup(recordKey({ operation: "not base64url!!!" as typeof key.operation }), OTHER_INPUT),
    () => ledger.lookup(recordKey({ deadline: 1.5 }), OTHER_INPUT),
  ]
  for (const call of refused) await expect(call()).rejects.toThrow(RangeError)
  expect(await ledger.lookup(key, OTHER_INPUT)).toEqual({ status: "absent" })
})

test("the longest body and the longest lease are stored and come back", async () => {
  const key = recordKey()
  const body = new Uint8Array(LONGEST_BODY_BYTES).fill(9)
  const claim = claimOf(await ledger.claim(key, attempt({ leaseSeconds: 900 })))
  await ledger.record(key, claim, "completed", body)
  const found = await ledger.lookup(key, OTHER_INPUT)
  expect(found.status === "recorded" && found.body?.byteLength).toBe(LONGEST_BODY_BYTES)
})

/** The real objects behind stubs that fail first as the list says, before or after the call has had its effect. */
function failing(failures: (() => Error)[], when: "before" | "after", stubs = { made: 0 }): LedgerNamespace {
  const getByName: LedgerNamespace["getByName"] = (name, options) => {
    stubs.made++
    const stub = env.LEDGER.getByName(name, options)
    const failure = failures.shift()
    if (failure === undefined) return stub
    const fail = async (call: () => Promise<unknown>): Promise<never> => {
      if (when === "after") await call()
      throw failure()
    }
    return {
      claim: (...parameters) => fail(() => stub.claim(...parameters)),
      answer: (...parameters) => fail(() => stub.answer(...parameters)),
      settle: (...parameters) => fail(() => stub.settle(...parameters)),
      record: (...parameters) => fail(() => stub.record(...parameters)),
      release: (...parameters) => fail(() => stub.release(...parameters)),
      lookup: (...parameters) => fail(() => stub.lookup(...parameters)),
    } satisfies LedgerStub
  }
  return { getByName, jurisdiction: () => ({ getByName }) }
}

const lost = () => Object.assign(new Error("Network connection lost."), { retryable: true })
const reset = () => Object.assign(new Error("Durable Object reset."), { durableObjectReset: true })
const overloaded = () => Object.assign(new Error("Too many requests."), { overloaded: true, retryable: true })
const broken = () => new Error("a bug")

function clientThatFails(failures: (() => Error)[], when: "before" | "after") {
  const stubs = { made: 0 }
  const namespace = failing(failures, when, stubs)
  return { client: createLedgerClient({ namespace, purpose: "mcp", jurisdictions: new Map() }), stubs }
}

beforeEach(() => {
  vi.restoreAllMocks()
})

test.for(["before", "after"] as const)("a call lost %s its effect is made again and has one effect", async (when) => {
  const key = recordKey()
  const mine = attempt()
  const claimed = await clientThatFails([lost, reset], when).client.claim(key, mine)
  expect(await ledger.claim(key, mine)).toEqual(claimed)
  const recording = clientThatFails([lost], when)
  expect(await recording.client.record(key, claimOf(claimed), "completed")).toEqual({ status: "done" })
  expect(recording.stubs.made).toBe(2)

  const declined = await clientThatFails([lost], when).client.settle(recordKey(), "declined", OTHER_INPUT)
  expect(declined).toMatchObject({ status: "settled" })

  const released = recordKey()
  const claim = claimOf(await ledger.claim(released, attempt()))
  expect(await clientThatFails([lost], when).client.release(released, claim)).toEqual({ status: "done" })
})

test("an overloaded object is called once, and the error says when to come back", async () => {
  const { client, stubs } = clientThatFails([overloaded], "before")
  const call = client.claim(recordKey(), attempt())
  await expect(call).rejects.toThrow(LedgerOverloaded)
  await expect(call).rejects.toMatchObject({ retryAfterSeconds: 5 })
  expect(stubs.made).toBe(1)
})

test("an error that is not marked is passed on as it is, at once", async () => {
  const { client, stubs } = clientThatFails([broken], "before")
  await expect(client.claim(recordKey(), attempt())).rejects.toThrow("a bug")
  expect(stubs.made).toBe(1)
})

test("retries end within two seconds, each with a new stub", async () => {
  const { client, stubs } = clientThatFails(Array(100).fill(lost), "before")
  const began = Date.now()
  const call = client.claim(recordKey(), attempt())
  await expect(call).rejects.toThrow(LedgerUnavailable)
  await expect(call).rejects.not.toThrow(LedgerOverloaded)
  expect(Date.now() - began).toBeLessThan(2000)
  expect(stubs.made).toBeGreaterThanOrEqual(4)
  expect(stubs.made).toBeLessThanOrEqual(8)
})

test("a tenant's jurisdiction decides where its objects are; others go by the hint of their home", async () => {
  const asked: unknown[] = []
  const recorder = (jurisdiction?: string): LedgerNamespace["getByName"] => {
    return (name, options) => {
      asked.push({ jurisdiction, hint: options?.locationHint })
      return env.LEDGER.getByName(name)
    }
  }
  const namespace: LedgerNamespace = {
    getByName: recorder(),
    jurisdiction: (jurisdiction) => ({ getByName: recorder(jurisdiction) }),
  }
  const jurisdictions = new Map([[tenant("european"), "eu" as const]])
  const client = createLedgerClient({ namespace, purpose: "mcp", jurisdictions })
  await client.lookup(recordKey({ tenant: tenant("european") }), OTHER_INPUT)
  await client.lookup(recordKey({ home: { region: 3, shard: 0 } }), OTHER_INPUT)
  await client.lookup(recordKey({ home: { region: 200, shard: 0 } }), OTHER_INPUT)
  expect(asked).toEqual([{ jurisdiction: "eu" }, { hint: "weur" }, {}])
})
