import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { call, errorOf, resultOf } from "../support/mcp.ts"
import type { Running } from "../support/workerd.ts"
import { startAsking } from "./asking.ts"

let worker: Running
let end: () => Promise<void>

beforeAll(async () => {
  const asking = await startAsking()
  worker = asking.worker
  end = asking.end
})

afterAll(() => end())

const send = (name: string, more: object = {}) =>
  call(`${worker.url}/mcp`, { method: "tools/call", name, arguments: {}, ...more })

describe("what an author's effect gives", () => {
  it("does not stand for the outcome", async () => {
    const { requestState = "" } = resultOf(await send("gives_an_outcome"))
    const { structuredContent } = resultOf(await send("gives_an_outcome", { requestState }))
    expect(structuredContent).toMatchObject({ status: "completed", operationId: expect.not.stringContaining("mine") })
    expect(structuredContent?.["nextAction"]).not.toBe("again")
  })

  it("is left out where it is not what was declared: what was done is not called an error", async () => {
    const { requestState = "" } = resultOf(await send("gives_another_kind"))
    for (let time = 0; time < 2; time += 1) {
      const { isError = false, structuredContent } = resultOf(await send("gives_another_kind", { requestState }))
      expect({ isError, ...structuredContent }).toMatchObject({
        isError: false,
        status: "completed",
        resultOmitted: true,
      })
      expect(structuredContent).not.toHaveProperty("n")
    }
    expect(worker.logs()).toContain('"problem":"What gives_another_kind gives is not its result."')
  })
})

it.each(["constructor", "toString", "__proto__", "unknown"])("a tool called %s: -32602", async (name) => {
  expect(errorOf(await send(name)).code).toBe(-32602)
})
