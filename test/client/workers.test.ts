// The client in the Workers runtime, given what a service binding gives: a fetch of its own.
import { expect, it } from "vitest"
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

/** As callers without this compiler's strictness write what they leave out. */
function undefinedAt(...members: string[]): object {
  return Object.fromEntries(members.map((member) => [member, undefined]))
}

it("gives up in time", async () => {
  const silent = createClient({ url: "https://waxseal.test", token: "t", fetch: hang, timeoutMs: 100 })
  await expect(silent.keys()).rejects.toMatchObject({ code: "timed_out" })
})

function hang(_url: string, { signal }: RequestInit): Promise<Response> {
  return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)))
}
