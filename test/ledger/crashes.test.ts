import { abortAllDurableObjects, evictDurableObject } from "cloudflare:test"
import { env } from "cloudflare:workers"
import { expect, test } from "vitest"
import { attempt, claimOf, rowKey, settlement } from "./support.ts"

const BODY = new TextEncoder().encode("encrypted result")

test.for([
  ["a crash", () => abortAllDurableObjects()],
  ["an eviction", (name: string) => evictDurableObject(env.LEDGER.getByName(name))],
] as const)("%s forgets nothing that was answered", async ([name, interrupt]) => {
  const object = () => env.LEDGER.getByName(name)
  const [running, completed, declined, released] = [rowKey(), rowKey(), rowKey(), rowKey()]
  const mine = attempt()
  const claimed = await object().claim(running, mine)
  await object().record(completed, claimOf(await object().claim(completed, attempt())), "completed", BODY)
  await object().settle(declined, settlement())
  await object().release(released, claimOf(await object().claim(released, attempt())))

  await interrupt(name)

  expect(await object().claim(running, attempt())).toMatchObject({ status: "running" })
  expect(await object().claim(running, mine)).toEqual(claimed)
  expect(await object().claim(completed, attempt())).toMatchObject({ outcome: "completed", body: BODY })
  expect(await object().claim(declined, attempt())).toMatchObject({ outcome: "declined" })
  expect((await object().claim(released, attempt())).status).toBe("claimed")

  await interrupt(name)
  expect(await object().record(running, claimOf(claimed), "completed")).toEqual({ status: "done" })
})

test("claims that a crash cuts off have at most one winner, who is the only one to have a claim", async () => {
  const object = () => env.LEDGER.getByName("cut off")
  const keys = Array.from({ length: 20 }, () => rowKey())
  const claiming = keys.flatMap((key) =>
    [1, 2, 3].map(async () => ({ key, answer: await object().claim(key, attempt()) })),
  )
  await abortAllDurableObjects()
  const before = (await Promise.allSettled(claiming)).flatMap((call) =>
    call.status === "fulfilled" ? [call.value] : [],
  )
  const after = await Promise.all(keys.map(async (key) => ({ key, answer: await object().claim(key, attempt()) })))
  for (const key of keys) {
    const winners = [...before, ...after].filter((call) => call.key === key && call.answer.status === "claimed")
    expect(winners.length).toBeLessThanOrEqual(1)
  }
})
