import { abortAllDurableObjects, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test"
import { env } from "cloudflare:workers"
import { expect, it, vi } from "vitest"
import type { Principal, TenantId } from "../../src/brands.ts"
import type { Namespace } from "../../src/ledger/index.ts"
import type { SessionListStub, SessionRequest, SessionStub } from "../../src/mcp/session/message.ts"
import { SessionObject } from "../../src/mcp/session/object.ts"
import {
  createSessions,
  type OpenSession,
  type SessionEvent,
  SessionUnreachable,
} from "../../src/mcp/session/sessions.ts"
import { bytesToBase64Url, createPseudonyms, createSealer, parseKeyRing } from "../../src/seal/index.ts"

const HOUR = 3_600_000
const LIFE = 12 * HOUR

const random = (bytes: Uint8Array<ArrayBuffer>) => crypto.getRandomValues(bytes)

let people = 0

/** Sessions on the real objects, for a principal of its own; the clock is the test's. */
function stage(
  objects: Namespace<SessionStub> = env.SESSIONS,
  lists: Namespace<SessionListStub> = env.SESSION_LISTS,
  jurisdictions: ReadonlyMap<TenantId, DurableObjectJurisdiction> = new Map(),
) {
  const parsed = parseKeyRing(
    JSON.stringify([{ key: bytesToBase64Url(random(new Uint8Array(32))), sealsFrom: new Date(0).toISOString() }]),
  )
  if (!parsed.ok) throw new Error(parsed.problem)
  const { ring } = parsed
  const clock = { now: Date.now() }
  const now = () => clock.now
  const events: SessionEvent[] = []
  const sessions = createSessions({
    sealer: createSealer({ purpose: "session", ring, now, random }),
    objects,
    lists,
    changes: undefined,
    jurisdictions,
    now,
    pseudonyms: createPseudonyms({ ring, now }),
    observe: (event) => events.push(event),
  })
  people += 1
  const identity = {
    tenant: "claim:acme" as TenantId,
    principal: `person ${people}` as Principal,
    scopes: new Set(["mcp"]),
  }
  const owner = { ...identity, audience: "http://localhost/mcp" }
  const opening = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } }
  const initialize = { jsonrpc: "2.0", id: 0, method: "initialize", params: opening }
  const open = async (id: string) => {
    const session = await sessions.open(owner, id)
    if (!session) throw new Error("The session does not open.")
    return session
  }
  const begin = async () => (await sessions.begin(owner, initialize)) ?? ""
  const request = (body: object): Omit<SessionRequest, "session"> => ({
    identity,
    audience: owner.audience,
    metadata: "",
    expiresAt: Infinity,
    hearing: new Set(),
    headers: { accept: "application/json, text/event-stream", "content-type": "application/json" },
    body,
    home: { region: 0, shard: 0 },
  })
  const list = async (session: OpenSession) =>
    (await session.serve(request({ jsonrpc: "2.0", id: 1, method: "tools/list" })))?.text()
  return { sessions, owner, clock, events, open, begin, list, request }
}

it("an id opens for twelve hours, and not a moment longer", async () => {
  const { sessions, owner, clock, events, begin, open } = stage()
  const id = await begin()
  clock.now += LIFE - 1
  expect(await open(id)).toMatchObject({ opening: { clientInfo: { name: "test" } } })
  clock.now += 1
  expect(await sessions.open(owner, id)).toBeUndefined()
  expect(events.at(-1)).toMatchObject({ event: "session_refused", reason: "expired" })
})

it("after an eviction and after a crash the session goes on; it has stored nothing and set no alarm", async () => {
  const { begin, open, list } = stage()
  const session = await open(await begin())
  const object = env.SESSIONS.getByName(session.name)
  expect(await list(session)).toContain("provision_database")
  await evictDurableObject(object)
  expect(await list(session)).toContain("provision_database")
  await abortAllDurableObjects()
  const fresh = env.SESSIONS.getByName(session.name)
  expect(await list(session)).toContain("provision_database")
  expect(await runInDurableObject(fresh, (_, { storage }) => storage.list())).toEqual(new Map())
  expect(await runInDurableObject(fresh, (_, { storage }) => storage.getAlarm())).toBeNull()
  expect(await runDurableObjectAlarm(fresh)).toBe(false)
})

it("one that was ended stays ended, in memory, after an eviction, and after a crash", async () => {
  const { events, begin, open, list } = stage()
  const session = await open(await begin())
  expect(await list(session)).toContain("provision_database")
  expect([await session.resources(), await session.end(), await session.resources()]).toEqual([[], true, undefined])
  expect(await list(session)).toBeUndefined()
  await evictDurableObject(env.SESSIONS.getByName(session.name))
  expect(await list(session)).toBeUndefined()
  await abortAllDurableObjects()
  expect(await list(session)).toBeUndefined()
  expect(await session.end()).toBe(false)
  expect(events.at(-1)).toMatchObject({ event: "session_refused", reason: "ended" })
})

it("a list gives its storage back when its last session ends, and when the last has expired", async () => {
  const { begin, open } = stage()
  const session = await open(await begin())
  const list = env.SESSION_LISTS.getByName(session.list)
  const stored = () => runInDurableObject(list, (_, { storage }) => storage.list())
  expect(await stored()).toHaveProperty("size", 1)
  expect(await runInDurableObject(list, (_, { storage }) => storage.getAlarm())).toBe(session.expiresAt)
  await session.end()
  expect(await stored()).toHaveProperty("size", 0)
  expect(await runInDurableObject(list, (_, { storage }) => storage.getAlarm())).toBeNull()

  await list.add("expired", Date.now() - 1)
  expect(await list.has("expired")).toBe(false)
  await runDurableObjectAlarm(list)
  expect(await stored()).toHaveProperty("size", 0)
})

class Served extends Error {}

/** An object of sessions that asks this list, and throws `Served` where it would serve. */
async function onProbe(
  has: SessionListStub["has"],
  use: (probe: SessionStub, message: SessionRequest) => Promise<void>,
) {
  const { begin, open, request } = stage()
  const session = await open(await begin())
  const message = { ...request({ jsonrpc: "2.0", id: 1, method: "ping" }), session }
  class Probe extends SessionObject<Cloudflare.Env> {
    protected override createServer(): never {
      throw new Served()
    }
    protected override partsAt(): never {
      throw new Served()
    }
    protected override listOf(): SessionListStub {
      return Object.assign(env.SESSION_LISTS.getByName("none"), { has })
    }
  }
  await runInDurableObject(env.SESSIONS.getByName(session.name), (_, state) => use(new Probe(state, env), message))
}

it("an end that is told while the list is asked wins", () => {
  const asked = Promise.withResolvers<boolean>()
  return onProbe(
    () => asked.promise,
    async (probe, message) => {
      const serving = probe.serve(message)
      await probe.end()
      asked.resolve(true)
      expect(await serving).toBeUndefined()
      expect(await probe.serve(message)).toBeUndefined()
    },
  )
})

it("the list is asked again where it did not answer, and each minute; its no is final", async () => {
  const answers = [true, false, true]
  const lost = [new Error("lost")]
  const clock = vi.spyOn(Date, "now")
  await onProbe(
    async () => {
      const error = lost.pop()
      if (error) throw error
      return answers.shift() ?? expect.fail("It asks too often.")
    },
    async (probe, message) => {
      const now = Date.now()
      await expect(probe.serve(message)).rejects.toThrow("lost")
      await expect(probe.serve(message)).rejects.toThrow(Served)
      clock.mockReturnValue(now + 59_000)
      await expect(probe.serve(message)).rejects.toThrow(Served)
      clock.mockReturnValue(now + 61_000)
      expect(await probe.serve(message)).toBeUndefined()
      clock.mockReturnValue(now + 130_000)
      expect(await probe.serve(message)).toBeUndefined()
    },
  )
  clock.mockRestore()
})

it("a tenant's jurisdiction holds its sessions and their list", async () => {
  const asked: string[] = []
  const elsewhere = <Stub>(what: string, there: Namespace<Stub>): Namespace<Stub> => ({
    getByName: () => expect.fail("A tenant with a jurisdiction has nothing outside it."),
    jurisdiction: (jurisdiction) => {
      asked.push(`${what} in ${jurisdiction}`)
      return there
    },
  })
  const objects = elsewhere<SessionStub>("object", env.SESSIONS)
  const lists = elsewhere<SessionListStub>("list", env.SESSION_LISTS)
  const { begin, open, list } = stage(objects, lists, new Map([["claim:acme" as TenantId, "eu" as const]]))
  const session = await open(await begin())
  await list(session)
  await session.end()
  expect(new Set(asked)).toEqual(new Set(["object in eu", "list in eu"]))
})

it("an object that cannot be reached is an error of its own, and told to the operator", async () => {
  const broken: Namespace<SessionStub> = {
    getByName: () => ({ serve: () => Promise.reject(new RangeError("secret")), end: () => Promise.resolve() }),
    jurisdiction: () => broken,
  }
  const { events, begin, open, list } = stage(broken)
  const session = await open(await begin())
  await expect(list(session)).rejects.toThrow(SessionUnreachable)
  expect(events.at(-1)).toEqual({ event: "fault", name: "session", error: "RangeError" })
})
