import { env } from "cloudflare:workers"
import { describe, expect, it } from "vitest"

let registries = 0

/** The registry of a tenant that no other test has. */
function freshRegistry() {
  registries += 1
  return env.REGISTRY.getByName(`tenant-${registries}`)
}

const project = (name: string, monthlyCostUsd = 30, account = "acme") => ({ name, account, monthlyCostUsd })

describe("a project's write", () => {
  it("looks at the budget by itself, whatever was looked at before", async () => {
    const registry = freshRegistry()
    expect([await registry.covers(50, "acme", 30), await registry.covers(50, "acme", 30)]).toEqual([true, true])
    expect([await registry.covers(30, "acme", 30), await registry.covers(29.99, "acme", 30)]).toEqual([true, false])
    expect(await registry.createProject("key-1", project("one"), 50)).toMatchObject({ kind: "created" })
    expect(await registry.createProject("key-2", project("two"), 50)).toEqual({ kind: "over_budget" })
    expect(await registry.createProject("key-3", project("three", 30, "other"), 50)).toMatchObject({ kind: "created" })
    expect((await registry.created()).projects.map(({ name }) => name)).toEqual(["one", "three"])
  })

  it("spends a budget to the cent, and never more, however many race", async () => {
    const registry = freshRegistry()
    const racing = Array.from({ length: 10 }, (_, index) =>
      registry.createProject(`key-${index}`, project(`project-${index}`, 0.1), 0.3),
    )
    const kinds = (await Promise.all(racing)).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === "created")).toHaveLength(3)
    expect(kinds.filter((kind) => kind === "over_budget")).toHaveLength(7)
  })

  it("gives the same key what it has made, also when that spent the budget", async () => {
    const registry = freshRegistry()
    const made = await registry.createProject("key", project("one", 50), 50)
    expect(await registry.createProject("key", project("one", 50), 0)).toEqual(made)
    expect((await registry.created()).projects).toHaveLength(1)
  })

  it("takes no name twice", async () => {
    const registry = freshRegistry()
    await registry.createProject("key-1", project("one"), 100)
    expect(await registry.createProject("key-2", project("one"), 100)).toEqual({ kind: "name_taken" })
  })
})

describe("a database's write", () => {
  it("gives the same key what it has made, and another one nothing", async () => {
    const registry = freshRegistry()
    const made = await registry.createDatabase("key-1", "orders", "eu-west-1")
    expect(made).toMatchObject({ name: "orders", region: "eu-west-1" })
    expect(await registry.createDatabase("key-1", "orders", "eu-west-1")).toEqual(made)
    expect(await registry.createDatabase("key-2", "orders", "us-east-1")).toBeUndefined()
    expect((await registry.created()).databases).toEqual([made])
  })
})
