// The client in the Workers runtime, given what a service binding gives: a fetch of its own.
import { describe, expect, it } from "vitest"
import { createClient } from "../../src/client/index.ts"
import { BOUND, stage } from "../api/stage.ts"

const { call } = stage()
let lost = 0

/** Answers as the API does, but for those answers that are to be lost after it acted. */
async function fetch(url: string, { body }: RequestInit): Promise<Response> {
  const path = new URL(url).pathname.replace("/v1", "")
  const answer = await call(path, typeof body === "string" ? JSON.parse(body) : undefined)
  if (lost-- > 0) throw new TypeError("Network connection lost.")
  return Response.json(answer.body, { status: answer.status, headers: answer.headers })
}

const client = createClient({ url: "https://waxseal.test", token: "token", fetch })

it("redeems once, though an answer is lost", async () => {
  const { requestState } = await client.seal({ ...BOUND, state: { cost: 40 } })
  lost = 1
  expect(await client.redeem({ ...BOUND, requestState })).toMatchObject({ state: { cost: 40 }, replayed: false })
  await expect(client.redeem({ ...BOUND, requestState })).rejects.toMatchObject({ code: "already_redeemed" })
})

it("runs an operation once", async () => {
  let times = 0
  const run = () =>
    client.operations.run("order-7", { fingerprint: "three" }, async ({ signal }) => {
      times += 1
      return { invoice: "R-7", stopped: signal.aborted }
    })
  const results = await Promise.all(Array.from({ length: 20 }, run))
  expect(results).toEqual(Array(20).fill({ invoice: "R-7", stopped: false }))
  expect(times).toBe(1)
})

it("takes an explicit undefined for what is absent", async () => {
  const bound = { ...BOUND, ...undefinedAt("audience", "attemptId") }
  const sealing = undefinedAt("ttlSeconds", "maxRounds", "deadlineSeconds", "continues")
  const { requestState } = await client.seal({ ...BOUND, state: 1, ...undefinedAt("audience"), ...sealing })
  lost = 1
  expect(await client.redeem({ ...bound, requestState })).toMatchObject({ replayed: false })
  const [again] = await client.batch([{ op: "redeem", ...bound, requestState }])
  expect(again).toMatchObject({ ok: false, error: { code: "already_redeemed" } })

  const begin = { fingerprint: "three", ...undefinedAt("request", "principal", "attemptId", "retentionSeconds") }
  lost = 1
  expect(await client.operations.begin("absent", begin)).toMatchObject({ status: "running", attempt: 1 })
  const running = undefinedAt("principal", "leaseSeconds", "waitSeconds", "onLeaseEnd", "retentionSeconds")
  const run = () => client.operations.run("absent-2", { fingerprint: "three", ...running }, async () => "done")
  expect(await Promise.all([run(), run()])).toEqual(["done", "done"])
  expect(await client.operations.get("absent-2", undefinedAt("principal"))).toMatchObject({ result: "done" })
})

it.each(["", " ", "a b", "secret\n", "secret\r\nx: y", "sécret", "secret…", undefined, 7])(
  "sends nothing with a token that no header can carry: no. %#",
  async (token) => {
    let sent = 0
    const counting = async (): Promise<Response> => {
      sent += 1
      return Response.json({ keys: [] })
    }
    const client = createClient({ url: "https://waxseal.test", token: () => token as string, fetch: counting })
    const error = await client.keys().catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: "unusable_token" })
    expect(error).not.toHaveProperty("cause")
    expect(String(error)).not.toContain("cret")
    expect(sent).toBe(0)
  },
)

/** An answer that comes in pieces, with so long a pause before each. */
function inPieces(pieces: readonly string[], milliseconds: number, signal?: AbortSignal | null): Response {
  const coming = [...pieces]
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await new Promise((resolve) => setTimeout(resolve, milliseconds))
      if (signal?.aborted) return controller.error(signal.reason)
      const next = coming.shift()
      if (next === undefined) controller.close()
      else controller.enqueue(new TextEncoder().encode(next))
    },
  })
  return new Response(body)
}

it("is patient with an answer that comes slowly", async () => {
  let sent = 0
  const slow = async (_url: string, { signal }: RequestInit) => {
    sent += 1
    return inPieces(['{"ke', 'ys"', ":", "[", "]", "}"], 120, signal)
  }
  const client = createClient({ url: "https://waxseal.test", token: "t", fetch: slow, timeoutMs: 1_500 })
  expect(await client.keys()).toEqual([])
  expect(sent).toBe(1)
})

it("reads no answer that is larger than any of the API's", async () => {
  const megabyte = " ".repeat(1_048_576)
  let pieces = 0
  const long = async () => {
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        pieces += 1
        controller.enqueue(new TextEncoder().encode(megabyte))
        if (pieces === 16) controller.close()
      },
    })
    return new Response(body)
  }
  const client = createClient({ url: "https://waxseal.test", token: "t", fetch: long })
  await expect(client.keys()).rejects.toMatchObject({ code: "unexpected_answer", status: 200 })
  expect(pieces).toBeLessThan(8)
})

it("gives a large body the time that the API gives it", async () => {
  let sent = 0
  const slow = async (_url: string, { signal }: RequestInit) => {
    sent += 1
    await new Promise((resolve) => setTimeout(resolve, 700))
    signal?.throwIfAborted()
    return Response.json({ responses: [] })
  }
  const client = createClient({ url: "https://waxseal.test", token: "t", fetch: slow, timeoutMs: 1_200 })
  await client.batch(Array(20).fill({ op: "seal", ...BOUND, state: "x".repeat(4_000) }))
  expect(sent).toBe(1)
})

it("says that a connection failed, however late, where it is not asked again", async () => {
  const failing = async (): Promise<Response> => {
    await new Promise((resolve) => setTimeout(resolve, 200))
    throw new TypeError("Network connection lost.")
  }
  const client = createClient({ url: "https://waxseal.test", token: "t", fetch: failing, timeoutMs: 450 })
  const resolving = client.operations.resolve("order-7", { outcome: "rerun" })
  await expect(resolving).rejects.toMatchObject({ code: "unreachable" })
})

describe("when the time is up for a token", () => {
  /** Its first answers are lost; its tokens after so many do not come. */
  function clientWith(tokens: number) {
    let asked = 0
    const token = () => (asked++ < tokens ? "t" : new Promise<never>(() => undefined))
    const fetch = () => Promise.reject(new TypeError("Network connection lost."))
    return createClient({ url: "https://waxseal.test", token, fetch, timeoutMs: 400 })
  }

  it("says that nothing was sent", async () => {
    const error = await clientWith(0).keys().catch(String)
    expect(error).toMatch(/nothing was sent/)
    expect(error).not.toMatch(/may have happened/)
  })

  it("does not say so where something was", async () => {
    expect(await clientWith(1).keys().catch(String)).toMatch(/may have happened/)
  })
})

it.each([Number.NaN, Number.POSITIVE_INFINITY])("sends no state with a number that JSON has not: %s", async (cost) => {
  const sealing = client.seal({ ...BOUND, state: { costs: [cost] } })
  await expect(sealing).rejects.toMatchObject({ code: "invalid_body", status: undefined })
})

it.each(["https://h", "https://h/", "https://h//"])("calls /v1 of %s", async (url) => {
  const called: string[] = []
  const fetch = async (address: string) => {
    called.push(address)
    return Response.json({ keys: [] })
  }
  await createClient({ url, token: "t", fetch }).keys()
  expect(called).toEqual(["https://h/v1/keys"])
})

/** As callers without this compiler's strictness write what they leave out. */
function undefinedAt(...members: string[]): object {
  return Object.fromEntries(members.map((member) => [member, undefined]))
}

it("gives up in time", async () => {
  const silent = createClient({ url: "https://waxseal.test", token: "t", fetch: hang, timeoutMs: 100 })
  await expect(silent.keys()).rejects.toMatchObject({ code: "timed_out" })
})

describe("gives up in time on a fetch that knows no signals", () => {
  const never = new Promise<never>(() => undefined)
  let ends = 0
  const endless = async () => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode("{")),
      cancel: () => {
        ends += 1
      },
    })
    return new Response(body)
  }

  it.each([
    ["that never answers", () => never],
    ["whose answer never ends", endless],
  ])("%s", async (_, fetch) => {
    const client = createClient({ url: "https://waxseal.test", token: "t", fetch, timeoutMs: 200 })
    await expect(client.keys()).rejects.toMatchObject({ code: "timed_out" })
    const reason = new Error("the person left")
    const call = client.keys({ timeoutMs: 60_000, signal: abortedIn(50, reason) })
    await expect(call).rejects.toBe(reason)
  })

  it("whose answer is then let go", async () => {
    const before = ends
    const client = createClient({ url: "https://waxseal.test", token: "t", fetch: endless, timeoutMs: 100 })
    await client.keys().catch(() => undefined)
    expect(ends).toBeGreaterThan(before)
  })
})

function abortedIn(milliseconds: number, reason: Error): AbortSignal {
  const controller = new AbortController()
  setTimeout(() => controller.abort(reason), milliseconds)
  return controller.signal
}

function hang(_url: string, { signal }: RequestInit): Promise<Response> {
  return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)))
}
