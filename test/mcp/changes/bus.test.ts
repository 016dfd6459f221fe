import { abortAllDurableObjects, evictDurableObject, runInDurableObject } from "cloudflare:test"
import { env } from "cloudflare:workers"
import { beforeEach, describe, expect, it, vi } from "vitest"
import type { Principal, TenantId } from "../../../src/brands.ts"
import { objectName } from "../../../src/ledger/index.ts"
import type { Change, Wants } from "../../../src/mcp/changes/change.ts"
import { type Changes, createChangesClient } from "../../../src/mcp/changes/index.ts"

const URI = "waxseal://created"
const UPDATED: Change = { kind: "resource_updated", uri: URI }
const WANTS: Wants = { resourceSubscriptions: [URI] }

const changes = createChangesClient({ namespace: namespace(), jurisdictions: new Map() })

let tenants = 0
let tenant: TenantId

beforeEach(() => {
  tenants += 1
  tenant = `claim:tenant-${tenants}` as TenantId
})

function namespace(): DurableObjectNamespace<Changes> {
  if (!env.CHANGES) throw new Error("The tests' Worker has no CHANGES.")
  return env.CHANGES
}

async function bus(of = tenant): Promise<DurableObjectStub<Changes>> {
  return namespace().getByName(await objectName("changes", of))
}

/** Joins, and keeps what it hears. */
async function join(wants = WANTS, principal = "alice", of = tenant, session?: string) {
  const connected = await changes.connect({
    tenant: of,
    principal: principal as Principal,
    wants,
    ...(session !== undefined && { session }),
  })
  if (!connected.ok) throw new Error(connected.problem)
  const { socket } = connected
  const heard: unknown[] = []
  const closed: number[] = []
  socket.addEventListener("message", ({ data }) => void heard.push(JSON.parse(String(data))))
  socket.addEventListener("close", ({ code }) => void closed.push(code))
  socket.accept()
  return { socket, heard, closed }
}

const connect = () => changes.connect({ tenant, principal: "alice" as Principal, wants: WANTS })

const soon = (look: () => void) => vi.waitFor(look, { timeout: 2_000, interval: 5 })

/** What was published before this has been heard after it: one more goes last, to one more listener. */
async function settle(): Promise<void> {
  const last = await join({ resourceSubscriptions: ["test://last"] }, "last")
  await changes.publish(tenant, { kind: "resource_updated", uri: "test://last" })
  await soon(() => expect(last.heard).toHaveLength(1))
  last.socket.close()
}

it("tells a listener what it wants to know, and nothing else", async () => {
  const { heard } = await join()
  await changes.publish(tenant, { kind: "resource_updated", uri: "waxseal://other" })
  await changes.publish(tenant, { kind: "resources_list_changed" })
  await changes.publish(tenant, { kind: "prompts_list_changed" })
  await changes.publish(tenant, UPDATED)
  await settle()
  expect(heard).toEqual([UPDATED])
})

it.each([
  [{ toolsListChanged: true }, "tools_list_changed"],
  [{ promptsListChanged: true }, "prompts_list_changed"],
  [{ resourcesListChanged: true }, "resources_list_changed"],
] as const)("one that wants %o hears of that", async (wants, kind) => {
  const { heard } = await join(wants)
  for (const one of ["tools_list_changed", "prompts_list_changed", "resources_list_changed"] as const)
    await changes.publish(tenant, { kind: one })
  await settle()
  expect(heard).toEqual([{ kind }])
})

it("no tenant hears of another's changes", async () => {
  const wants = { ...WANTS, toolsListChanged: true }
  const neighbour = `${tenant}-2` as TenantId
  const here = await join(wants)
  const there = await join(wants, "alice", neighbour)
  await changes.publish(tenant, UPDATED)
  await changes.publish(neighbour, { kind: "tools_list_changed" })
  await soon(() => expect([here.heard, there.heard]).toEqual([[UPDATED], [{ kind: "tools_list_changed" }]]))
})

it("goes on after the object was evicted, and wakes for nothing but an event", async () => {
  const listeners = await Promise.all(Array.from({ length: 20 }, (_, index) => join(WANTS, `person-${index}`)))
  const object = await bus()
  await runInDurableObject(object, (instance) => Object.assign(instance, { first: true }))
  await evictDurableObject(object)
  await scheduler.wait(200)
  // Only a running object can be evicted: nothing has constructed it again.
  await expect(evictDurableObject(object)).rejects.toThrow()
  await changes.publish(tenant, UPDATED)
  for (const { heard } of listeners) await soon(() => expect(heard).toEqual([UPDATED]))
  expect(await runInDurableObject(object, (instance) => "first" in instance)).toBe(false)
})

it("stores nothing and sets no alarm", async () => {
  await join()
  await changes.publish(tenant, UPDATED)
  const stored = await runInDurableObject(await bus(), async (_, { storage }) => ({
    alarm: await storage.getAlarm(),
    entries: (await storage.list()).size,
    tables: storage.sql.exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '_cf%'").toArray(),
  }))
  expect(stored).toEqual({ alarm: null, entries: 0, tables: [] })
})

it("closes on a listener that speaks, and passes nothing on", async () => {
  const { heard } = await join()
  const rude = await join()
  rude.socket.send(JSON.stringify(UPDATED))
  await soon(() => expect(rude.closed).toEqual([1008]))
  await settle()
  expect(heard).toEqual([])
})

it("lets a principal listen 32 times, and again once it has left", async () => {
  const listeners = await Promise.all(Array.from({ length: 32 }, () => join()))
  expect(await connect()).toEqual({ ok: false, problem: "principal_full" })
  await join(WANTS, "bob")
  listeners[0]?.socket.close()
  await soon(async () => expect(await connect()).toMatchObject({ ok: true }))
})

it("counts after an eviction as before it", async () => {
  await Promise.all(Array.from({ length: 32 }, () => join()))
  await evictDurableObject(await bus())
  expect(await connect()).toEqual({ ok: false, problem: "principal_full" })
})

it("lets a tenant listen 1,000 times", async () => {
  await runInDurableObject(await bus(), (_, context) => {
    for (let person = 0; person < 999; person++) context.acceptWebSocket(new WebSocketPair()[0], [`person-${person}`])
  })
  await join(WANTS, "last")
  expect(await connect()).toEqual({ ok: false, problem: "tenant_full" })
})

it("carries the largest wants, through an eviction too", async () => {
  const uris = Array.from({ length: 64 }, (_, index) => `${index + 10}${"é".repeat(31)}`)
  const { heard } = await join({ resourceSubscriptions: uris })
  await evictDurableObject(await bus())
  const last: Change = { kind: "resource_updated", uri: uris[63] ?? "" }
  await changes.publish(tenant, last)
  await soon(() => expect(heard).toEqual([last]))
})

describe("the stream of a session", () => {
  const LISTS: Wants = { toolsListChanged: true }
  const other: Change = { kind: "resource_updated", uri: "test://other" }

  it("is told of what it subscribes to while it is open, through evictions", async () => {
    const { heard } = await join(LISTS, "alice", tenant, "session")
    const { heard: strange } = await join(LISTS, "alice", tenant, "another")
    await changes.subscribe(tenant, "session", [URI, "test://other"])
    await evictDurableObject(await bus())
    await changes.publish(tenant, UPDATED)
    await changes.unsubscribe(tenant, "session", URI)
    await evictDurableObject(await bus())
    for (const change of [UPDATED, other]) await changes.publish(tenant, change)
    await settle()
    await soon(() => expect([heard, strange]).toEqual([[UPDATED, other], []]))
  })

  it("gives way to the next, which counts in its place", async () => {
    await Promise.all(Array.from({ length: 31 }, () => join()))
    const before = await join(LISTS, "alice", tenant, "session")
    const after = await join(LISTS, "alice", tenant, "session")
    await soon(() => expect([before.closed, after.closed]).toEqual([[1000], []]))
  })

  it("never grows beyond what a listener may name", async () => {
    const { heard } = await join(LISTS, "alice", tenant, "session")
    const uris = Array.from({ length: 64 }, (_, index) => `test://${index}`)
    await changes.subscribe(tenant, "session", uris)
    await changes.subscribe(tenant, "session", [URI])
    await changes.publish(tenant, UPDATED)
    await changes.publish(tenant, { kind: "resource_updated", uri: "test://63" })
    await soon(() => expect(heard).toEqual([{ kind: "resource_updated", uri: "test://63" }]))
  })

  it("is ended with its session, and no other", async () => {
    const { closed } = await join(LISTS, "alice", tenant, "session")
    const { closed: open } = await join(LISTS, "alice", tenant, "another")
    await changes.dismiss(tenant, "session")
    await soon(() => expect([closed, open]).toEqual([[1000], []]))
  })
})

it("ends its listeners' sockets when it crashes", async () => {
  const { socket } = await join()
  const ends: string[] = []
  for (const event of ["close", "error"] as const) socket.addEventListener(event, () => void ends.push(event))
  await abortAllDurableObjects()
  await soon(() => expect(ends).not.toEqual([]))
  expect(await connect()).toMatchObject({ ok: true })
})
