import { listDurableObjectIds } from "cloudflare:test"
import { env } from "cloudflare:workers"
import { expect, test } from "vitest"
import type { Principal, TenantId } from "../../src/brands.ts"
import {
  createKeyedLedgerClient,
  createLedgerClient,
  type KeyedLedgerNamespace,
  type KeyedLedgerStub,
  LedgerOverloaded,
  LONGEST_BODY_BYTES,
  type OperationKey,
} from "../../src/ledger/index.ts"
import { keyedAttempt, keyedClaimOf, operationKey } from "./keyed-support.ts"
import { attempt, OTHER_INPUT, randomBytes, recordKey } from "./support.ts"

const ledger = createKeyedLedgerClient({ namespace: env.LEDGER, jurisdictions: new Map() })

test("a keyed operation goes from its first attempt to its recorded result", async () => {
  const key = operationKey()
  expect(await ledger.read(key)).toEqual({ status: "absent" })
  const first = keyedClaimOf(await ledger.begin(key, keyedAttempt()))
  expect(await ledger.begin(key, keyedAttempt())).toMatchObject({ status: "running", attempt: 1 })
  expect(await ledger.renew(key, first, 900)).toMatchObject({ status: "renewed" })
  expect(await ledger.resolve(key, { outcome: "rerun" })).toEqual({ status: "not_unknown" })
  expect(await ledger.end(key, first, { outcome: "rerun" })).toMatchObject({ status: "ended" })

  const second = keyedClaimOf(await ledger.begin(key, keyedAttempt(), 1))
  const waiting = ledger.begin(key, keyedAttempt(), 25)
  const body = new Uint8Array(LONGEST_BODY_BYTES).fill(9)
  expect(await ledger.end(key, second, { outcome: "completed", body })).toMatchObject({ status: "ended" })
  const standing = await waiting
  expect(standing).toMatchObject({ status: "recorded", outcome: "completed", attempt: 2 })
  expect(standing.status === "recorded" && standing.body?.byteLength).toBe(LONGEST_BODY_BYTES)
})

test("a second replica finishes what the first began", async () => {
  const replica = createKeyedLedgerClient({ namespace: env.LEDGER, jurisdictions: new Map() })
  const key = operationKey()
  const claim = keyedClaimOf(await ledger.begin(key, keyedAttempt()))
  expect(await replica.begin(key, keyedAttempt())).toMatchObject({ status: "running" })
  expect(await replica.end(key, claim, { outcome: "completed" })).toMatchObject({ status: "ended" })
  expect(await ledger.begin(key, keyedAttempt())).toMatchObject({ status: "recorded" })
})

test("tenant, caller, principal and key each name another operation; an absent principal is not an empty one", async () => {
  const key = operationKey({ key: "order 7", principal: "user" })
  const others: OperationKey[] = [
    key,
    { ...key, tenant: "other tenant" as TenantId },
    { ...key, caller: "other caller" as Principal },
    { ...key, principal: "other user" },
    { ...key, principal: "" },
    { ...key, principal: undefined },
    { ...key, key: "order 8" },
    { ...key, principal: "userorder", key: " 7" },
    { ...key, principal: "order 7", key: "user" },
  ]
  for (const other of others) expect(await ledger.begin(other, keyedAttempt())).toMatchObject({ status: "claimed" })
  const again = { tenant: key.tenant, caller: key.caller, principal: "user", key: "order 7" }
  expect(await ledger.begin(again, keyedAttempt())).toMatchObject({ status: "running" })
})

test("a tenant has 256 objects for its keys, apart from those of its sealed operations and of other tenants", async () => {
  const names = new Set<string>()
  const namespace: KeyedLedgerNamespace = {
    getByName: (name) => {
      names.add(name)
      return { ...absent, read: async () => ({ status: "absent" }) }
    },
    jurisdiction: () => namespace,
  }
  const client = createKeyedLedgerClient({ namespace, jurisdictions: new Map() })
  for (let index = 0; index < 4000; index++) await client.read(operationKey({ key: String(index) }))
  expect(names.size).toBe(256)
  for (let index = 0; index < 100; index++)
    await client.read(operationKey({ tenant: "other" as TenantId, key: String(index) }))
  expect(names.size).toBeGreaterThan(256 + 50)

  const before = new Set((await listDurableObjectIds(env.LEDGER)).map(String))
  const sealed = createLedgerClient({ namespace: env.LEDGER, purpose: "api", jurisdictions: new Map() })
  const key = recordKey({ tenant: operationKey().tenant, home: { region: 0, shard: 77 } })
  await sealed.settle(key, "completed", OTHER_INPUT)
  const [made] = (await listDurableObjectIds(env.LEDGER)).filter((id) => !before.has(String(id)))
  expect([...names].map((name) => String(env.LEDGER.idFromName(name)))).not.toContain(String(made))
})

test("a tenant's jurisdiction decides where its objects are, and nothing else does", async () => {
  const asked: unknown[] = []
  const recorder = (jurisdiction?: string): KeyedLedgerNamespace["getByName"] => {
    return (name, options) => {
      asked.push({ jurisdiction, options })
      return env.LEDGER.getByName(name)
    }
  }
  const namespace: KeyedLedgerNamespace = {
    getByName: recorder(),
    jurisdiction: (jurisdiction) => ({ getByName: recorder(jurisdiction) }),
  }
  const european = "european" as TenantId
  const client = createKeyedLedgerClient({ namespace, jurisdictions: new Map([[european, "eu"]]) })
  await client.read(operationKey({ tenant: european }))
  await client.read(operationKey())
  expect(asked).toEqual([
    { jurisdiction: "eu", options: undefined },
    { jurisdiction: undefined, options: undefined },
  ])
})

test("what breaks a stated limit is refused before anything is called", async () => {
  const key = operationKey()
  const body = new Uint8Array(LONGEST_BODY_BYTES + 1)
  const claim = new Uint8Array(20)
  const refused = [
    () => ledger.begin(key, keyedAttempt({ attempt: randomBytes(15) })),
    () => ledger.begin(key, keyedAttempt({ fingerprint: randomBytes(17) })),
    ...[0, 901, 1.5].map((leaseSeconds) => () => ledger.begin(key, keyedAttempt({ leaseSeconds }))),
    ...[59, 2_592_001, Number.NaN].map(
      (retentionSeconds) => () => ledger.begin(key, keyedAttempt({ retentionSeconds })),
    ),
    ...[-1, 26, 0.5].map((waitSeconds) => () => ledger.begin(key, keyedAttempt(), waitSeconds)),
    ...[0, 901].map((leaseSeconds) => () => ledger.renew(key, claim, leaseSeconds)),
    () => ledger.end(key, claim, { outcome: "completed", body }),
    () => ledger.resolve(key, { outcome: "failed", body }),
  ]
  for (const call of refused) await expect(call()).rejects.toThrow(RangeError)
  expect(await ledger.read(key)).toEqual({ status: "absent" })
})

/** Verbs of a stub that no test calls. */
const absent: KeyedLedgerStub = {
  begin: () => Promise.reject(new Error("not called")),
  end: () => Promise.reject(new Error("not called")),
  renew: () => Promise.reject(new Error("not called")),
  resolve: () => Promise.reject(new Error("not called")),
  read: () => Promise.reject(new Error("not called")),
}

/** The real objects behind stubs, the first of which does what it is asked and loses the answer. */
function losingFirstAnswer(error: Error) {
  let lost = false
  const getByName: KeyedLedgerNamespace["getByName"] = (name) => {
    const stub = env.LEDGER.getByName(name)
    if (lost) return stub
    lost = true
    const lose = async (call: Promise<unknown>): Promise<never> => {
      await call
      throw error
    }
    return {
      begin: (...parameters) => lose(stub.begin(...parameters)),
      end: (...parameters) => lose(stub.end(...parameters)),
      renew: (...parameters) => lose(stub.renew(...parameters)),
      resolve: (...parameters) => lose(stub.resolve(...parameters)),
      read: (id) => lose(stub.read(id)),
    }
  }
  const namespace: KeyedLedgerNamespace = { getByName, jurisdiction: () => ({ getByName }) }
  return createKeyedLedgerClient({ namespace, jurisdictions: new Map() })
}

const lost = () => losingFirstAnswer(Object.assign(new Error("Network connection lost."), { retryable: true }))

test("a call whose answer is lost is made again and has one effect", async () => {
  const key = operationKey()
  const mine = keyedAttempt({ leaseSeconds: 1 })
  const begun = await lost().begin(key, mine)
  expect(begun).toMatchObject({ status: "claimed", attempt: 1 })
  expect(await lost().renew(key, keyedClaimOf(begun), 1)).toMatchObject({ status: "renewed" })
  await new Promise((resolve) => setTimeout(resolve, 1100))
  expect(await lost().resolve(key, { outcome: "rerun" })).toMatchObject({ status: "ended" })

  expect(await lost().resolve(key, { outcome: "rerun" }, 2)).toEqual({ status: "not_unknown" })

  const second = keyedClaimOf(await lost().begin(key, keyedAttempt()))
  const body = randomBytes(10)
  expect(await lost().end(key, second, { outcome: "completed", body })).toMatchObject({ status: "recorded", body })
  expect(await lost().read(key)).toMatchObject({ status: "recorded", attempt: 2 })
})

test("an overloaded object is not called again", async () => {
  const client = losingFirstAnswer(
    Object.assign(new Error("Too many requests."), { overloaded: true, retryable: true }),
  )
  await expect(client.begin(operationKey(), keyedAttempt())).rejects.toThrow(LedgerOverloaded)
})

test("a redemption is settled in one hop, tells the same attempt from others, and says when it was", async () => {
  const sealed = createLedgerClient({ namespace: env.LEDGER, purpose: "api", jurisdictions: new Map() })
  const key = recordKey()
  const [mine, other] = [randomBytes(16), randomBytes(16)]
  const first = await sealed.settle(key, "completed", mine)
  if (first.status !== "settled") expect.fail(`not settled but ${first.status}`)
  const { recordedAt } = first
  expect(Math.abs(recordedAt - Date.now())).toBeLessThan(5000)
  const redeemed = { status: "recorded", outcome: "completed", recordedAt }
  expect(await sealed.settle(key, "completed", mine)).toEqual({ ...redeemed, sameInput: true })
  expect(await sealed.settle(key, "completed", other)).toEqual({ ...redeemed, sameInput: false })
  expect(await sealed.claim(key, attempt())).toEqual({ ...redeemed, sameInput: false })
})

test("a resolution speaks of the attempt that it was given, or of the one that is unknown when it is made", async () => {
  const key = operationKey()
  const begin = () => ledger.begin(key, keyedAttempt({ leaseSeconds: 1 }))
  const lapse = () => new Promise((resolve) => setTimeout(resolve, 1100))
  await begin()
  expect(await ledger.resolve(key, { outcome: "rerun" })).toEqual({ status: "not_unknown" })
  await lapse()
  expect(await ledger.resolve(key, { outcome: "rerun" }, 1)).toMatchObject({ status: "ended" })
  await begin()
  await lapse()
  expect(await ledger.resolve(key, { outcome: "rerun" }, 1)).toEqual({ status: "not_unknown" })
  expect(await ledger.read(key)).toMatchObject({ status: "unknown", attempt: 2 })
  expect(await ledger.resolve(key, { outcome: "failed" })).toMatchObject({ status: "ended" })
  expect(await ledger.read(key)).toMatchObject({ status: "recorded", outcome: "failed", attempt: 2 })
})
