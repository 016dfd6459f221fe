import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from "vitest"
import type { z } from "zod"
import type { BeginBody } from "../../../src/api/schemas/operations.ts"
import type { SealBody, SealedBody } from "../../../src/api/schemas/state.ts"
import {
  type BeginRequest,
  type ClientOptions,
  createClient,
  type Sealed,
  type SealRequest,
} from "../../../src/client/index.ts"
import { BOUND, expectCode, type Stage, setStage } from "./stage.ts"

let stage: Stage

beforeAll(async () => {
  stage = await setStage()
})

afterAll(() => stage.stop())

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const PROGRESS = {
  operationId: expect.any(String),
  round: 1,
  issuedAt: TIME,
  expiresAt: TIME,
  deadline: TIME,
}

const seal = async (changes: object = {}) =>
  (await stage.client.seal({ ...BOUND, state: { cost: 40 }, ...changes })).requestState

describe("states", () => {
  it("are sealed, opened and redeemed", async () => {
    const sealed = await stage.client.seal({ ...BOUND, state: { cost: 40 } })
    expect(sealed).toEqual({ requestState: expect.any(String), ...PROGRESS })
    const { requestState } = sealed
    const opened = { state: { cost: 40 }, ...PROGRESS, keyId: expect.any(String), needsReseal: false }
    expect(await stage.client.open({ ...BOUND, requestState })).toEqual(opened)
    const redeemed = await stage.client.redeem({ ...BOUND, requestState })
    expect(redeemed).toEqual({ ...opened, redeemedAt: TIME, replayed: false })
    await expectCode(stage.client.redeem({ ...BOUND, requestState }), "already_redeemed", {
      status: 409,
      redeemedAt: redeemed.redeemedAt,
    })
  })

  it("go on for as many rounds as they may", async () => {
    const first = await seal({ maxRounds: 2 })
    const second = await stage.client.seal({ ...BOUND, state: 2, continues: first })
    expect(second.round).toBe(2)
    await expectCode(stage.client.seal({ ...BOUND, state: 3, continues: second.requestState }), "rounds_exceeded", {
      status: 422,
    })
  })

  it("tell a redemption of one's own from that of others", async () => {
    const requestState = await seal()
    const mine = { ...BOUND, requestState, attemptId: "attempt-0123456789" }
    expect((await stage.client.redeem(mine)).replayed).toBe(false)
    expect((await stage.client.redeem(mine)).replayed).toBe(true)
    await expectCode(stage.client.redeem({ ...mine, attemptId: "attempt-9876543210" }), "already_redeemed")
  })

  it("are refused with a reason for the log", async () => {
    const requestState = await seal()
    const wrong: [object, string][] = [
      [{ requestState: "x" }, "malformed"],
      [{ principal: "bob" }, "principal"],
      [{ audience: "elsewhere" }, "audience"],
      [{ request: { ...BOUND.request, arguments: { name: "other" } } }, "request"],
    ]
    for (const [changes, reason] of wrong) {
      const refused = { status: 422, reason }
      await expectCode(stage.client.open({ ...BOUND, requestState, ...changes }), "invalid_request_state", refused)
    }
  })

  it("travel in batches, each with a result of its own", async () => {
    const requestState = await seal()
    const sent = { ...BOUND, requestState }
    const results = await stage.client.batch([
      { op: "seal", ...BOUND, state: 1 },
      { op: "open", ...sent },
      { op: "redeem", ...sent },
      { op: "redeem", ...sent },
      { op: "open", ...sent, principal: "bob" },
    ])
    expect(results).toMatchObject([
      { ok: true, op: "seal", value: { round: 1 } },
      { ok: true, op: "open", value: { state: { cost: 40 } } },
      { ok: true, op: "redeem", value: { replayed: false } },
      { ok: false, op: "redeem", error: { code: "already_redeemed", status: 409, redeemedAt: TIME } },
      { ok: false, op: "open", error: { code: "invalid_request_state", reason: "principal" } },
    ])
  })

  it("are sealed with keys that may be listed", async () => {
    expect(await stage.client.keys()).toEqual([
      { keyId: expect.any(String), suite: 1, state: "sealing", sealsFrom: TIME },
    ])
  })
})

describe("operations", () => {
  const INPUT = { fingerprint: "three of A-113" }

  it("begin, are renewed and completed, and read as what they came to", async () => {
    const { operations } = stage.client
    const begun = await operations.begin("order 1".replace(" ", "/"), INPUT)
    expect(begun).toEqual({ status: "running", claim: expect.any(String), attempt: 1, leaseEndsAt: TIME })
    if (begun.status !== "running") throw new Error(begun.status)
    const { claim } = begun
    expect(await operations.renew("order/1", { claim, leaseSeconds: 60 })).toEqual({ leaseEndsAt: TIME })
    await expectCode(operations.begin("order/1", INPUT), "operation_in_progress", {
      status: 409,
      leaseEndsAt: TIME,
      retryAfterSeconds: 5,
    })
    expect(await operations.get("order/1")).toMatchObject({ status: "running", attempt: 1 })
    const completed = await operations.complete("order/1", { claim, result: { invoice: "R-7" } })
    expect(completed).toMatchObject({ status: "completed", result: { invoice: "R-7" }, replayed: false })
    expect(await operations.begin("order/1", INPUT)).toEqual({ ...completed, replayed: true })
    await expectCode(operations.begin("order/1", { fingerprint: "four" }), "operation_mismatch", { status: 422 })
    await expectCode(operations.fail("order/1", { claim, error: 1, retryable: false }), "stale_claim", { status: 409 })
    await expectCode(operations.resolve("order/1", { outcome: "rerun" }), "not_unknown", { status: 409 })
    await expectCode(operations.get("order/2"), "unknown_operation", { status: 404 })
  })

  it("fail for good, or so that the next begin runs", async () => {
    const { operations } = stage.client
    const first = await operations.begin("failing", INPUT)
    if (first.status !== "running") throw new Error(first.status)
    const again = await operations.fail("failing", { claim: first.claim, error: "busy", retryable: true })
    expect(again).toMatchObject({ status: "failed", retryable: true, error: "busy" })
    const second = await operations.begin("failing", INPUT)
    if (second.status !== "running") throw new Error(second.status)
    expect(second.attempt).toBe(2)
    await operations.fail("failing", { claim: second.claim, error: "gone", retryable: false })
    expect(await operations.begin("failing", INPUT)).toMatchObject({
      status: "failed",
      error: "gone",
      retryable: false,
    })
  })

  it("of one principal are apart from those of another", async () => {
    const { operations } = stage.client
    const alice = await operations.begin("shared", { ...INPUT, principal: "alice" })
    if (alice.status !== "running") throw new Error(alice.status)
    await operations.complete("shared", { claim: alice.claim, result: 1, principal: "alice" })
    expect(await operations.get("shared", { principal: "alice" })).toMatchObject({ result: 1 })
    await expectCode(operations.get("shared", { principal: "bob" }), "unknown_operation")
  })

  it("keep no result that is too large", async () => {
    const { operations } = stage.client
    const begun = await operations.begin("large", INPUT)
    if (begun.status !== "running") throw new Error(begun.status)
    const large = { claim: begun.claim, result: "x".repeat(1_048_576) }
    await expectCode(operations.complete("large", large), "result_too_large", { status: 413 })
    expect(await operations.begin("large", INPUT)).toMatchObject({ status: "completed", resultOmitted: true })
  })

  it("have keys that a URL can carry", async () => {
    for (const key of ["", ".", "..", "ü", "a b", "a".repeat(256)]) {
      await expectCode(stage.client.operations.get(key), "invalid_parameter", { status: undefined })
    }
    await expectCode(stage.client.operations.get("%2e"), "unknown_operation")
  })
})

describe("errors", () => {
  it("name who may not", async () => {
    const { clientWith, api } = stage
    const tokenless: ClientOptions["fetch"] = (url, { headers: _, ...init }) => fetch(url, init)
    await expectCode(clientWith({ fetch: tokenless }).keys(), "unauthorized", { status: 401 })
    await expectCode(clientWith({ token: "x.y.z" }).keys(), "invalid_token", { status: 401 })
    const token = () => api.token({ scope: "state:seal" })
    await expectCode(clientWith({ token }).keys(), "insufficient_scope", { status: 403 })
  })

  it("name what does not fit", async () => {
    await expectCode(stage.client.seal({ ...BOUND, state: 1, ttlSeconds: 0 }), "invalid_body", {
      status: 400,
      errors: [{ path: "/ttlSeconds", message: expect.any(String) }],
    })
    await expectCode(stage.client.seal({ ...BOUND, state: "x".repeat(2_097_152) }), "body_too_large")
  })

  it("quote neither token, state nor answer", async () => {
    const requestState = await seal()
    const token = await stage.api.token()
    const error = await expectCode(
      stage.client.open({ ...BOUND, requestState, principal: "bob" }),
      "invalid_request_state",
    )
    const told = `${error.message} ${JSON.stringify(error)} ${error.stack}`
    for (const secret of [token, requestState, "bob"]) expect(told).not.toContain(secret)
  })

  it("name a url that is none, and one that is not the API's", async () => {
    expect(() => createClient({ url: "waxseal", token: "" })).toThrow(TypeError)
    for (const url of ["ftp://waxseal", "https://", "https://u@waxseal", "https://:secret@waxseal", "secret word"]) {
      expect(() => createClient({ url, token: "" })).toThrow(/^url (is not|must have no)(?!.*secret)/)
    }
    for (const url of ["https://waxseal/?secret", "https://waxseal/#secret"]) {
      expect(() => createClient({ url, token: "" })).toThrow(/^url must have no(?!.*secret)/)
    }
    const { clientWith, api } = stage
    await expectCode(clientWith({ url: `${api.worker.url}/elsewhere` }).keys(), "not_found", { status: 404 })
  })

  it.each<unknown>([0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, "5"])(
    "name a time that is none: %s",
    async (time) => {
      const timeoutMs = time as number
      expect(() => stage.clientWith({ timeoutMs })).toThrow(/^timeoutMs must be a number of milliseconds from 1 to/)
      await expectCode(stage.client.keys({ timeoutMs }), "invalid_parameter", { status: undefined })
      await stage.client.keys({ timeoutMs: 2 ** 31 - 1 })
    },
  )

  it("of a token that cannot be had are passed on", async () => {
    const token = () => Promise.reject(new Error("no token today"))
    await expect(stage.clientWith({ token, timeoutMs: 300 }).keys()).rejects.toThrow("no token today")
  })
})

it("its types are those of the API's own schemas", () => {
  expectTypeOf<Sealed>().toEqualTypeOf<z.output<typeof SealedBody>>()
  expectTypeOf<SealRequest>().toExtend<Omit<z.input<typeof SealBody>, "state" | "request" | "principal">>()
  expectTypeOf<BeginRequest>().toExtend<Omit<z.input<typeof BeginBody>, "request" | "principal">>()
})
