import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { z } from "zod"
import { type Api, type ApiAnswer, type ApiCall, startApi, text } from "../../support/api.ts"
import { call as callMcp } from "../../support/mcp.ts"

const LIMIT = 5

let api: Api
let limited: Api

beforeAll(async () => {
  api = await startApi()
  limited = await startApi({ rateLimits: { API_RATE_LIMIT: LIMIT, MCP_RATE_LIMIT: LIMIT } })
})

afterAll(() => Promise.all([api.stop(), limited.stop()]))

const BOUND = { principal: "alice", request: { method: "tools/call", target: "x", arguments: { a: 1 } } }
const SEAL = { op: "seal", state: 1, ...BOUND }

const Responses = z.object({ responses: z.array(z.object({ status: z.number(), body: z.looseObject({}) })) })

async function batch(requests: unknown, options: ApiCall = {}, at = api) {
  const answer = await at.call("/v1/batch", { requests }, options)
  expect(answer.status).toBe(200)
  return Responses.parse(answer.body).responses
}

async function sealed(): Promise<string> {
  const { op: _, ...body } = SEAL
  return text(await api.call("/v1/seal", body), "requestState")
}

describe("a batch", () => {
  it("answers each call in its place, as by itself", async () => {
    const requestState = await sealed()
    const responses = await batch([
      SEAL,
      { op: "open", requestState, ...BOUND },
      { op: "open", requestState, ...BOUND, principal: "bob" },
      { op: "redeem", requestState, ...BOUND },
      { op: "seal", ...BOUND },
      { op: "batch", requests: [] },
      7,
      { ...SEAL, surprise: 1 },
      { ...SEAL, state: "x".repeat(5_000) },
    ])
    expect(responses.map(({ status, body }) => body["code"] ?? status)).toEqual([
      200,
      200,
      "invalid_request_state",
      200,
      "invalid_body",
      "invalid_body",
      "invalid_body",
      "invalid_body",
      "invalid_body",
    ])
    for (const { status, body } of responses) if (status >= 400) expect(body["status"]).toBe(status)
    expect(responses[1]?.body).toMatchObject({ state: 1, needsReseal: false })
    expect(responses[3]?.body).toMatchObject({ replayed: false })
  })

  it("takes a hundred, in which one redemption of a state is first", async () => {
    const requestState = await sealed()
    const responses = await batch(Array.from({ length: 100 }, () => ({ op: "redeem", requestState, ...BOUND })))
    expect(responses).toHaveLength(100)
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(responses.filter(({ status }) => status === 409)).toHaveLength(99)
  })

  it.each([[[]], [Array.from({ length: 101 }, () => SEAL)], [{}], [undefined]])("refuses no. %#", async (requests) => {
    const answer = await api.call("/v1/batch", { requests })
    expect(answer).toMatchObject({ status: 400, body: { code: "invalid_body" } })
  })

  it("refuses a member that is not known, whatever it is called", async () => {
    const odd = JSON.parse(JSON.stringify(SEAL).replace("{", '{"__proto__":{"op":"open"},'))
    expect(await batch([odd, SEAL])).toMatchObject([{ status: 400, body: { code: "invalid_body" } }, { status: 200 }])
  })

  it("checks the scope of each call", async () => {
    const requestState = await sealed()
    const entries = [SEAL, { op: "open", requestState, ...BOUND }, { op: "redeem", requestState, ...BOUND }]
    for (const [index, scope] of ["state:seal", "state:open", "state:redeem"].entries()) {
      const responses = await batch(entries, { as: { scope } })
      const expected = entries.map((_, at) => (at === index ? 200 : 403))
      expect(responses.map(({ status }) => status)).toEqual(expected)
    }
    expect((await api.call("/v1/batch", { requests: [SEAL] }, { as: null })).status).toBe(401)
  })
})

describe("too many calls of one principal", () => {
  function expectLimited(answer: ApiAnswer): void {
    expect(answer).toMatchObject({ status: 429, body: { code: "rate_limited", retryAfterSeconds: 10 } })
    expect(answer.headers.get("retry-after")).toBe("10")
  }

  it("are refused until the period is over, and others are not", async () => {
    const as = { principal: "eager" }
    for (let call = 0; call < LIMIT; call++)
      expect((await limited.call("/v1/keys", undefined, { as })).status).toBe(200)
    expectLimited(await limited.call("/v1/keys", undefined, { as }))
    expectLimited(await limited.call("/v1/operations/k/begin", { fingerprint: "x" }, { as }))
    expectLimited(await limited.call("/v1/seal", "not even looked at", { as }))
    const other = { as: { principal: "calm" } }
    expect((await limited.call("/v1/operations/k/begin", { fingerprint: "x" }, other)).status).toBe(201)
    expect(limited.worker.logs()).toContain('"event":"rate_limited"')
  })

  it("are counted in a batch one by one", async () => {
    const options = { as: { principal: "batcher" } }
    const responses = await batch(
      Array.from({ length: 8 }, () => SEAL),
      options,
      limited,
    )
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(LIMIT)
    const refused = responses.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(3)
    expect(refused[0]?.body).toMatchObject({ code: "rate_limited", retryAfterSeconds: 10 })
    expectLimited(await limited.call("/v1/batch", { requests: [SEAL] }, options))
  })

  it("are refused at /mcp too", async () => {
    const url = `${limited.worker.url}/mcp`
    const list = async (principal: string) => {
      const token = await limited.identity.token({ principal, audience: url })
      return callMcp(url, { token, method: "tools/list" })
    }
    for (let call = 0; call < LIMIT; call++) expect((await list("eager")).status).toBe(200)
    const refused = await list("eager")
    expect(refused).toMatchObject({ status: 429, body: { jsonrpc: "2.0", error: { code: -32_000 } } })
    expect(refused.headers.get("retry-after")).toBe("10")
    expect((await list("calm")).status).toBe(200)
  })
})
