import { expect, it } from "vitest"
import { holdLease } from "../../src/client/lease.ts"

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

it("a lease ends so long after its renewal was asked for, however late that was answered", async () => {
  const limits: number[] = []
  const lease = await holdLease({
    leaseSeconds: 1,
    sentAt: performance.now(),
    async renew(_seconds, options) {
      const timeoutMs = options?.timeoutMs ?? 0
      limits.push(timeoutMs)
      await sleep(limits.length === 1 ? 500 : timeoutMs)
      if (limits.length > 1) throw new Error("no answer")
    },
  })
  await new Promise((resolve) => lease.lost.addEventListener("abort", resolve))
  // Asked for after a third of a second and answered half a second later; asked for again a third of a second later.
  expect(limits).toHaveLength(2)
  expect(limits[1]).toBeLessThan(300)
})
