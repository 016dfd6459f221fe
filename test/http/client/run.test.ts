// An operation run through the client: once, whoever else runs it, and whatever becomes of them.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Json } from "../../../src/brands.ts"
import { OperationFailure, type RunRequest, type Work } from "../../../src/client/index.ts"
import { ROOT } from "../../support/bundle.ts"
import type { Fate } from "../../support/flaky-proxy.ts"
import { expectCode, type Stage, setStage } from "./stage.ts"

let stage: Stage

beforeAll(async () => {
  stage = await setStage()
})

afterAll(() => stage.stop())

const INPUT = { fingerprint: "three of A-113" }

let keys = 0
const newKey = () => `run-${++keys}`
type Changes = Omit<RunRequest, "request" | "fingerprint"> & { readonly fingerprint?: string }
const run = (key: string, work: Work, changes: Changes = {}, signal?: AbortSignal) =>
  stage.client.operations.run(key, { ...INPUT, ...changes }, work, { signal })

/** Work that counts how often it is done. */
function counted(result: { value: Json | undefined } = { value: { invoice: "R-7" } }, milliseconds = 0) {
  const work = Object.assign(
    async () => {
      work.times += 1
      await sleep(milliseconds)
      return result.value
    },
    { times: 0 },
  )
  return work
}

/** Work that goes on until it is let. */
function held() {
  const [begun, over] = [Promise.withResolvers<AbortSignal>(), Promise.withResolvers<Json>()]
  const work: Work = ({ signal }) => {
    begun.resolve(signal)
    return over.promise
  }
  return { work, begun: begun.promise, ...over }
}

describe("an operation", () => {
  it("runs once, and gives its stored result when it is run again", async () => {
    const key = newKey()
    const work = counted()
    for (let time = 0; time < 3; time++) expect(await run(key, work)).toEqual({ invoice: "R-7" })
    expect(work.times).toBe(1)
  })

  it("runs once when twenty race, and all get the result", async () => {
    const key = newKey()
    const work = counted({ value: { invoice: "R-8" } }, 300)
    const results = await Promise.all(Array.from({ length: 20 }, () => run(key, work)))
    expect(work.times).toBe(1)
    expect(results).toEqual(Array.from({ length: 20 }, () => ({ invoice: "R-8" })))
  })

  it.each<Json | undefined>([undefined, null, false, 0, "", []])("may come to %j", async (value) => {
    const key = newKey()
    const work = counted({ value })
    for (let time = 0; time < 2; time++) expect(await run(key, work)).toEqual(value ?? null)
    expect(work.times).toBe(1)
  })

  it("runs once through a network that loses answers", async () => {
    const key = newKey()
    const work = counted()
    stage.proxy.fates("lose the answer", "lose the answer")
    expect(await stage.flaky.operations.run(key, INPUT, work)).toEqual({ invoice: "R-7" })
    expect(work.times).toBe(1)
    expect(stage.proxy.seen.map(({ path }) => path.split("/").at(-1))).toEqual(["begin", "begin", "begin", "complete"])
  })

  it("is another where its input or its principal is", async () => {
    const key = newKey()
    await run(key, counted())
    const other = counted()
    await expectCode(run(key, other, { fingerprint: "four" }), "operation_mismatch", { status: 422 })
    expect(other.times).toBe(0)
    await run(key, other, { principal: "alice" })
    expect(other.times).toBe(1)
  })
})

describe.concurrent("work that fails", () => {
  it("for good is told so again, and not done again", async () => {
    const key = newKey()
    const failed = { failure: { sku: "A-113" }, retryable: false }
    await expectCode(
      run(key, () => Promise.reject(new OperationFailure({ sku: "A-113" }))),
      "operation_failed",
      failed,
    )
    const work = counted()
    await expectCode(run(key, work), "operation_failed", failed)
    expect(work.times).toBe(0)
  })

  it("retryably is done again by the next run", async () => {
    const key = newKey()
    const busy = () => Promise.reject(new OperationFailure("busy", { retryable: true }))
    await expectCode(run(key, busy), "operation_failed", { failure: "busy", retryable: true })
    expect(await run(key, async ({ attempt }) => attempt)).toBe(2)
  })

  it("in any other way has an unknown outcome, which others soon learn", async () => {
    const key = newKey()
    const error = new Error("the connection to the bank broke")
    await expect(run(key, () => Promise.reject(error))).rejects.toBe(error)
    const work = counted()
    const before = performance.now()
    await expectCode(run(key, work), "operation_outcome_unknown", { status: 409 })
    expect(performance.now() - before).toBeLessThan(4_000)
    expect(work.times).toBe(0)
    await stage.client.operations.resolve(key, { outcome: "completed", result: "it was paid" })
    expect(await run(key, work)).toBe("it was paid")
  })

  it("is told at once where the API is away", async () => {
    const { proxy } = await stage.network()
    const patient = stage.clientWith({ url: proxy.url })
    const error = new Error("the connection to the bank broke")
    const before = performance.now()
    const failing = patient.operations.run(newKey(), INPUT, () => {
      proxy.fates(...Array<Fate>(20).fill({ status: 503 }))
      return Promise.reject(error)
    })
    await expect(failing).rejects.toBe(error)
    expect(performance.now() - before).toBeLessThan(4_000)
  })

  it("in any other way is done again under rerun", async () => {
    const key = newKey()
    const rerun = { onLeaseEnd: "rerun" } as const
    await expect(run(key, () => Promise.reject(new Error("broke")), rerun)).rejects.toThrow("broke")
    expect(await run(key, async ({ attempt }) => attempt, rerun)).toBe(2)
  })
})

describe.concurrent("a token that cannot be had for a moment", () => {
  /** A client whose next token is not to be had, once that is said. */
  function forgetful() {
    let isAway = false
    const token = () => {
      if (!isAway) return stage.api.token()
      isAway = false
      throw new Error("no token now")
    }
    const goAway = () => {
      isAway = true
    }
    return { operations: stage.clientWith({ token }).operations, goAway, isAway: () => isAway }
  }

  it("loses no outcome", async () => {
    const key = newKey()
    const { operations, goAway } = forgetful()
    const work: Work = async () => {
      goAway()
      return "done"
    }
    expect(await operations.run(key, INPUT, work)).toBe("done")
    expect(await stage.client.operations.get(key)).toMatchObject({ status: "completed", result: "done" })
  })

  it("loses no lease", async () => {
    const key = newKey()
    const { operations, goAway, isAway } = forgetful()
    const work: Work = async ({ signal }) => {
      goAway()
      await sleep(1_500)
      return [isAway(), signal.aborted]
    }
    expect(await operations.run(key, { ...INPUT, leaseSeconds: 1 }, work)).toEqual([false, false])
  })
})

describe("a result that cannot be kept", () => {
  const results: [string, unknown][] = [
    ["over 1 MiB", "x".repeat(1_048_576)],
    ["over 2 MiB", "é".repeat(1_048_576)],
    ["over 2 MiB by far", "x".repeat(20_000_000)],
    ["of 20,001 members", Array.from({ length: 20_001 }, (_, number) => ({ number }))],
    ["of 97 levels", JSON.parse("[".repeat(97) + "]".repeat(97))],
    ["that is no JSON", 7n],
    ["that JSON leaves out", () => "later"],
    ["with a number that JSON has not", { cost: Number.NaN }],
  ]

  it.each(results)("%s is its caller's all the same, and the work is not done again", async (_, value) => {
    const key = newKey()
    const rerun = { onLeaseEnd: "rerun", leaseSeconds: 1 } as const
    const work = counted({ value: value as Json })
    expect(await run(key, work, rerun)).toBe(value)
    await sleep(1_100)
    await expectCode(run(key, work, rerun), "result_omitted", { status: undefined })
    expect(work.times).toBe(1)
  })

  const tooSlow = () => Response.json({ code: "body_too_slow", detail: "D." }, { status: 408 })
  const never = () => new Promise<never>(() => undefined)

  /** A client whose results meet these fates on their way, and then the last of them again and again. */
  function slowClient(...fates: readonly (() => Response | Promise<Response>)[]) {
    let tries = 0
    const slow = async (url: string, init: RequestInit) => {
      if (!String(init.body).includes('"result":')) return fetch(url, init)
      const fate = fates[Math.min(tries, fates.length - 1)]
      tries += 1
      return fate ? fate() : fetch(url, init)
    }
    return stage.clientWith({ timeoutMs: 900, fetch: slow })
  }

  it.each([
    ["is refused for it", [tooSlow]],
    ["gets no answer", [tooSlow, never]],
  ])("is one that is slow until its time is up, and then %s", async (_, fates) => {
    const key = newKey()
    expect(await slowClient(...fates).operations.run(key, INPUT, counted({ value: "done" }))).toBe("done")
    await expectCode(run(key, counted()), "result_omitted")
  })

  it("is not one that was slow once", async () => {
    const key = newKey()
    const work: Work = async () => {
      stage.proxy.fates({ status: 408, body: JSON.stringify({ code: "body_too_slow", detail: "D." }) })
      return "done"
    }
    expect(await stage.flaky.operations.run(key, INPUT, work)).toBe("done")
    expect(await run(key, counted())).toBe("done")
  })

  it("is a failure's error: it is recorded without it", async () => {
    const key = newKey()
    const error = "x".repeat(2_097_152)
    const failing = () => Promise.reject(new OperationFailure(error))
    await expectCode(run(key, failing), "operation_failed", { failure: error, retryable: false })
    await expectCode(run(key, failing), "operation_failed", { failure: undefined, retryable: false })
  })
})

describe.concurrent("while another attempt works", () => {
  it("says so to those who do not wait", async () => {
    const key = newKey()
    const { work, begun, resolve } = held()
    const first = run(key, work)
    await begun
    await expectCode(run(key, counted(), { waitSeconds: 0 }), "operation_in_progress", { status: 409 })
    resolve("done")
    expect(await first).toBe("done")
  })

  it("its lease is renewed for as long as it takes", async () => {
    const key = newKey()
    const { work, begun, resolve } = held()
    const first = run(key, work, { leaseSeconds: 1 })
    const signal = await begun
    await sleep(2_500)
    expect(signal.aborted).toBe(false)
    await expectCode(run(key, counted(), { waitSeconds: 0 }), "operation_in_progress")
    resolve("late")
    expect(await first).toBe("late")
  })

  it("waits longer than the lease and then has one of its own", async () => {
    const key = newKey()
    const { work, begun, reject } = held()
    const first = run(key, work, { leaseSeconds: 1 })
    await begun
    const slow: Work = async ({ attempt, signal }) => {
      await sleep(700)
      return [attempt, signal.aborted]
    }
    const second = run(key, slow, { leaseSeconds: 1 })
    await sleep(1_500)
    reject(new OperationFailure("busy", { retryable: true }))
    await expectCode(first, "operation_failed")
    expect(await second).toEqual([2, false])
  })
})

describe("a lease that is lost", () => {
  it("stops the work before another may begin", async () => {
    const key = newKey()
    const { work, begun, resolve } = held()
    const before = performance.now()
    const first = stage.flaky.operations.run(key, { ...INPUT, leaseSeconds: 1, onLeaseEnd: "rerun" }, work)
    const signal = await begun
    stage.proxy.fates("hang", "hang", "hang", "hang", "hang")
    await once(signal, "abort")
    expect(performance.now() - before).toBeLessThan(2_000)
    expect(signal.reason).toMatchObject({ code: "timed_out" })
    stage.proxy.fates()
    expect(await run(key, async ({ attempt }) => attempt, { onLeaseEnd: "rerun" })).toBe(2)
    resolve("too late")
    await expectCode(first, "stale_claim", { status: 409 })
    expect(await run(key, counted())).toBe(2)
  })

  it("does not undo what was done, where nobody else began", async () => {
    const key = newKey()
    const { work, begun, resolve } = held()
    const first = stage.flaky.operations.run(key, { ...INPUT, leaseSeconds: 1 }, work)
    const signal = await begun
    stage.proxy.fates("hang", "hang", "hang", "hang", "hang")
    await once(signal, "abort")
    stage.proxy.fates()
    await expectCode(run(key, counted()), "operation_outcome_unknown")
    resolve("it happened")
    expect(await first).toBe("it happened")
    expect(await run(key, counted())).toBe("it happened")
  })
})

describe("a run that is aborted", () => {
  const reason = new Error("the person left")

  it("before it begins asks for nothing", async () => {
    const key = newKey()
    const work = counted()
    await expect(run(key, work, {}, AbortSignal.abort(reason))).rejects.toBe(reason)
    await expectCode(stage.client.operations.get(key), "unknown_operation")
  })

  it("while it begins leaves nothing stuck", async () => {
    const key = newKey()
    const controller = new AbortController()
    const work = counted()
    const aborted = run(key, work, {}, controller.signal)
    controller.abort(reason)
    await expect(aborted).rejects.toBe(reason)
    expect(await run(key, work)).toEqual({ invoice: "R-7" })
    expect(work.times).toBe(1)
  })

  it("while its lease is being made sure of gives it back, and does no work", async () => {
    const key = newKey()
    const { proxy, flaky } = await stage.network()
    const { work, begun, reject } = held()
    const first = run(key, work)
    await begun
    const controller = new AbortController()
    const late = counted()
    const second = flaky.operations.run(key, { ...INPUT, leaseSeconds: 1 }, late, { signal: controller.signal })
    await sleep(500)
    proxy.fates("hang")
    setTimeout(() => controller.abort(reason), 100)
    reject(new OperationFailure("busy", { retryable: true }))
    await expectCode(first, "operation_failed")
    await expect(second).rejects.toBe(reason)
    expect(late.times).toBe(0)
    expect(await run(key, async ({ attempt }) => attempt)).toBe(3)
  })

  it("while it works tells the work, whose outcome counts", async () => {
    const key = newKey()
    const controller = new AbortController()
    const { work, begun, resolve } = held()
    const first = run(key, work, {}, controller.signal)
    const signal = await begun
    controller.abort(reason)
    expect(signal.reason).toBe(reason)
    resolve("done all the same")
    expect(await first).toBe("done all the same")
  })
})

describe.concurrent("an owner that is killed", () => {
  async function begunElsewhere(key: string, onLeaseEnd: string): Promise<void> {
    const { worker, token } = stage.api
    const owner = spawn(process.execPath, [join(ROOT, "test/http/client/owner.ts"), worker.url, key, onLeaseEnd], {
      env: { ...process.env, TOKEN: await token() },
      stdio: ["ignore", "pipe", "inherit"],
    })
    const [said] = await once(owner.stdout, "data")
    expect(String(said)).toBe("working\n")
    owner.kill("SIGKILL")
    await once(owner, "close")
  }

  it("leaves an outcome that is unknown, and that nobody makes again", async () => {
    const key = newKey()
    await begunElsewhere(key, "report")
    const work = counted()
    await expectCode(run(key, work), "operation_outcome_unknown")
    expect(work.times).toBe(0)
  })

  it("is followed by the next under rerun", async () => {
    const key = newKey()
    await begunElsewhere(key, "rerun")
    expect(await run(key, async ({ attempt }) => attempt, { onLeaseEnd: "rerun" })).toBe(2)
  })
})
