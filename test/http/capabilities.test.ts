import { afterAll, beforeAll, expect, it } from "vitest"
import { call, errorOf, resultOf } from "../support/mcp.ts"
import type { Running } from "../support/workerd.ts"
import { startAsking } from "./asking.ts"

/** What a client has to declare for each kind of question. */
const NEEDED = {
  form: { elicitation: { form: {} } },
  url: { elicitation: { url: {} } },
  sampling: { sampling: {} },
  roots: { roots: {} },
}

let worker: Running
let end: () => Promise<void>

beforeAll(async () => {
  const asking = await startAsking()
  worker = asking.worker
  end = asking.end
})

afterAll(() => end())

const ask = (name: string, capabilities: object) =>
  call(`${worker.url}/mcp`, {
    method: "tools/call",
    name,
    arguments: {},
    meta: { "io.modelcontextprotocol/clientCapabilities": capabilities },
  })

const kinds = Object.keys(NEEDED) as (keyof typeof NEEDED)[]
const pairs = kinds.flatMap((asked) => kinds.map((declared) => [asked, declared] as const))

it.each(pairs)("%s is asked of a client that declares %s where that is the same", async (asked, declared) => {
  const answer = await ask(asked, NEEDED[declared])
  if (asked === declared) expect(resultOf(answer).inputRequests).toHaveProperty("question")
  else {
    expect(answer.status).toBe(400)
    expect(errorOf(answer)).toMatchObject({ code: -32021, data: { requiredCapabilities: NEEDED[asked] } })
  }
})

it.each(kinds)("%s is asked of no client that declares nothing", async (asked) => {
  expect(errorOf(await ask(asked, {})).code).toBe(-32021)
})

it("a client that declares elicitation without a mode means forms", async () => {
  expect(resultOf(await ask("form", { elicitation: {} })).inputRequests).toHaveProperty("question")
  expect(errorOf(await ask("url", { elicitation: {} })).code).toBe(-32021)
})

it("every kind is asked together with others of a client that declares them all", async () => {
  const all = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }
  for (const kind of kinds) expect(resultOf(await ask(kind, all)).inputRequests).toHaveProperty("question")
})
