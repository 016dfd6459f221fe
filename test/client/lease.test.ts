// When a lease ends by this machine's own clock: never later than by the API's, however slow its answers.
import { expect, it } from "vitest"
import { holdLease } from "../../src/client/lease.ts"

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

it("counts a renewed lease from when the renewal was asked for, not from its answer", async () => {
  const asked: { at: number; timeoutMs: number | undefined }[] = []
  const second = Promise.withResolvers<void>()
  const lease = await holdLease({
    leaseSeconds: 1,
    sentAt: performance.now(),
    renew: async (_seconds, { timeoutMs }) => {
      asked.push({ at: performance.now(), timeoutMs })
      if (asked.length === 2) second.resolve()
      await pause(300)
    },
  })
  await second.promise
  lease.stop()
  const [first, again] = asked
  if (!first || again?.timeoutMs === undefined) throw new Error("It was not renewed twice.")
  expect(again.at + again.timeoutMs).toBeLessThan(first.at + 1_000 + 50)
})
