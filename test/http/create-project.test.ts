import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Bundle } from "../support/bundle.ts"
import { makeIdentity, type TestIdentity, type TokenOptions } from "../support/identity.ts"
import { type Answer, type Call, call, errorOf, resultOf } from "../support/mcp.ts"
import { bundleWith } from "../support/planted.ts"
import { type Running, startWorker, type WorkerOptions } from "../support/workerd.ts"

const SETTINGS = {
  PRICES: '{"acme":49.9,"small":30,"tiny":30}',
  BUDGETS: '{"acme":1000,"small":50,"tiny":50}',
  POLICY_VERSION: "2026-08",
}

let identity: TestIdentity
let storage: string
let worker: Running
let alice: string

beforeAll(async () => {
  identity = await makeIdentity()
  storage = await mkdtemp(join(tmpdir(), "waxseal-"))
  await start()
})

afterAll(async () => {
  await worker.stop()
  await rm(storage, { recursive: true, force: true })
})

async function start(settings: Record<string, string> = {}, options: Partial<WorkerOptions> = {}): Promise<void> {
  const bindings = { ...identity.bindings, ...SETTINGS, ...settings }
  worker = await startWorker({ bindings, storage, ...options })
  alice = await token({ principal: "alice" })
}

/** The same server under other settings, or from other sources, while dialogues are open. */
async function restart(settings: Record<string, string> = {}, bundle?: Bundle): Promise<void> {
  const { port } = worker
  await worker.stop()
  await start(settings, { port, ...(bundle && { bundle }) })
}

function token(who: Omit<TokenOptions, "audience">): Promise<string> {
  return identity.token({ audience: `${worker.url}/mcp`, ...who })
}

let names = 0

function freshName(): string {
  names += 1
  return `project-${names}`
}

function send(name: string, account: string, options: Partial<Call> = {}): Promise<Answer> {
  const asked = { method: "tools/call", name: "create_project", arguments: { name, account } }
  return call(`${worker.url}/mcp`, { token: alice, ...asked, ...options })
}

async function ask(name: string, account = "acme"): Promise<string> {
  const { requestState = "" } = resultOf(await send(name, account))
  return requestState
}

const YES = { approval: { action: "accept", content: { approved: true } } }
const NOT_APPROVED = { approval: { action: "accept", content: { approved: false } } }
const DECLINED = { approval: { action: "decline" } }

async function answer(
  name: string,
  requestState: string,
  account = "acme",
  options: Partial<Call> = {},
): Promise<{ isError: boolean; [member: string]: unknown }> {
  const answered = await send(name, account, { requestState, inputResponses: YES, ...options })
  const { isError = false, structuredContent } = resultOf(answered)
  return { isError, ...structuredContent }
}

async function created(): Promise<string> {
  const list = { token: alice, method: "tools/call", name: "list_created", arguments: {} }
  return JSON.stringify(resultOf(await call(`${worker.url}/mcp`, list)).structuredContent)
}

describe("asking", () => {
  it("asks for approval of that cost, for that account and name", async () => {
    const result = resultOf(await send("shop", "acme"))
    expect(result.inputRequests).toMatchObject({
      approval: {
        params: {
          message: 'Create the project "shop" for $49.9 a month, paid by the account "acme"?',
          requestedSchema: { properties: { approved: { type: "boolean" } }, required: ["approved"] },
        },
      },
    })
  })

  it("asks nothing for an account in which nothing has a price", async () => {
    const { isError, content } = resultOf(await send("shop", "nowhere"))
    expect(isError).toBe(true)
    expect(JSON.stringify(content)).toContain("account")
  })

  it("challenges a token without its scope before it asks", async () => {
    const { status, headers } = await send("shop", "acme", { token: await token({ principal: "alice", scope: "mcp" }) })
    expect(status).toBe(403)
    const challenge = headers.get("www-authenticate") ?? ""
    expect(challenge).toContain('error="insufficient_scope"')
    expect(challenge).toContain('scope="projects:create"')
    expect(challenge).toContain(`resource_metadata="${worker.url}/.well-known/oauth-protected-resource/mcp"`)
  })
})

describe("approving", () => {
  it("creates exactly once", async () => {
    const name = freshName()
    const state = await ask(name)
    const first = await answer(name, state)
    expect(first).toMatchObject({
      isError: false,
      status: "completed",
      project: { name, account: "acme", monthlyCostUsd: 49.9 },
    })
    expect(await answer(name, state)).toEqual(first)
    const racers = await ask(freshName())
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => answer(`project-${names}`, racers)))
    expect(outcomes.map(({ status }) => status)).toContain("completed")
    expect((await created()).split(`"project-${names}"`)).toHaveLength(2)
  })

  it.each([
    ["an approval that says no", NOT_APPROVED],
    ["a decline", DECLINED],
  ])("creates nothing on %s, finally", async (_what, inputResponses) => {
    const name = freshName()
    const state = await ask(name)
    expect(await answer(name, state, "acme", { inputResponses })).toMatchObject({ isError: false, status: "declined" })
    expect(await answer(name, state)).toMatchObject({ isError: true, status: "already_used", recorded: "declined" })
    expect(await created()).not.toContain(`"${name}"`)
  })

  it.each(["true", 1, null, { approved: true }, ["true"]])("does not take %j for an approval", async (approved) => {
    const name = freshName()
    const inputResponses = { approval: { action: "accept", content: { approved } } }
    const result = resultOf(await send(name, "acme", { requestState: await ask(name), inputResponses }))
    expect(result.resultType).toBe("input_required")
    expect(await created()).not.toContain(`"${name}"`)
  })

  it("binds name and account", async () => {
    const name = freshName()
    const state = await ask(name, "small")
    for (const [otherName, otherAccount] of [
      [freshName(), "small"],
      [name, "acme"],
    ] as const) {
      const refused = await send(otherName, otherAccount, { requestState: state, inputResponses: YES })
      expect(errorOf(refused).code).toBe(-32602)
    }
  })
})

describe("between the question and the answer", () => {
  it("a budget that is spent by another: no write, failed, finally", async () => {
    const [first, second] = [freshName(), freshName()]
    const [firstState, secondState] = [await ask(first, "tiny"), await ask(second, "tiny")]
    expect(await answer(first, firstState, "tiny")).toMatchObject({ status: "completed" })
    for (let time = 0; time < 2; time += 1) {
      expect(await answer(second, secondState, "tiny")).toMatchObject({ status: "failed", retryable: false })
    }
    expect(await created()).not.toContain(`"${second}"`)
  })

  it("two approvals that race and overspend together: one wins", async () => {
    const [first, second] = [freshName(), freshName()]
    const [firstState, secondState] = [await ask(first, "small"), await ask(second, "small")]
    const outcomes = await Promise.all([answer(first, firstState, "small"), answer(second, secondState, "small")])
    const statuses = outcomes.map(({ status }) => status)
    expect(statuses.sort()).toEqual(["completed", "failed"])
    const [winner, winnerState] = outcomes[0]?.isError ? [second, secondState] : [first, firstState]
    const [loser, loserState] = outcomes[0]?.isError ? [first, firstState] : [second, secondState]
    expect(await answer(loser, loserState, "small")).toMatchObject({ status: "failed", retryable: false })
    expect(await created()).not.toContain(`"${loser}"`)
    // The winner's lost response does not meet the budget that it spent itself.
    expect(await answer(winner, winnerState, "small")).toMatchObject({ status: "completed" })
  })

  it("a scope that is taken away: no write, failed, finally", async () => {
    const name = freshName()
    const state = await ask(name)
    const less = { token: await token({ principal: "alice", scope: "mcp" }) }
    expect(await answer(name, state, "acme", less)).toMatchObject({ status: "failed", retryable: false })
    expect(await answer(name, state)).toMatchObject({ status: "failed", retryable: false })
    expect(await created()).not.toContain(`"${name}"`)
  })

  it.each([
    ["a price that is raised", { PRICES: '{"acme":60}' }],
    ["a price that is lowered", { PRICES: '{"acme":10}' }],
    ["an account that is closed", { PRICES: "{}" }],
    ["a policy version that is raised", { POLICY_VERSION: "2026-09" }],
  ])("%s: no write, policy_changed, finally", async (_what, settings) => {
    const name = freshName()
    const state = await ask(name)
    await restart(settings)
    expect(await answer(name, state)).toMatchObject({ isError: true, status: "policy_changed", retryable: true })
    await restart()
    expect(await answer(name, state)).toMatchObject({ status: "policy_changed" })
    expect(await created()).not.toContain(`"${name}"`)
  })

  it("a definition that is deployed anew with other words: no write, policy_changed, finally", async () => {
    const name = freshName()
    const state = await ask(name)
    const spentName = freshName()
    const spent = await ask(spentName)
    const completed = await answer(spentName, spent)
    const file = "src/mcp/tools/create-project.ts"
    const otherWords = { file, find: "const question = `Create the", replace: "const question = `Make the" }
    await restart({}, await bundleWith("project-asked-in-other-words", otherWords))
    expect(await answer(name, state)).toMatchObject({ isError: true, status: "policy_changed", retryable: true })
    expect(await answer(spentName, spent)).toEqual(completed)
    expect(JSON.stringify(resultOf(await send(name, "acme")).inputRequests)).toContain("Make the project")
    await restart()
    expect(await answer(name, state)).toMatchObject({ status: "policy_changed" })
    expect(await created()).not.toContain(`"${name}"`)
  })

  it("a budget that is lowered: no write, failed", async () => {
    const name = freshName()
    const state = await ask(name)
    await restart({ BUDGETS: '{"acme":1}' })
    expect(await answer(name, state)).toMatchObject({ status: "failed", retryable: false })
    await restart()
    expect(await created()).not.toContain(`"${name}"`)
  })

  it("anything, after the outcome: the recorded outcome", async () => {
    const name = freshName()
    const state = await ask(name)
    const completed = await answer(name, state)
    await restart({ PRICES: "{}", BUDGETS: "{}", POLICY_VERSION: "2027-01" })
    expect(await answer(name, state)).toEqual(completed)
    await restart()
  })
})
