import { expect, it } from "vitest"
import { z } from "zod"
import { done, form, operation } from "../../src/operation/index.ts"
import { stage } from "./stage.ts"

const Code = z.object({ code: z.string().length(4) })

/** Opens where the code is right; a wrong one ends it. */
function safe(strict: boolean) {
  const counted = { opened: 0 }
  const definition = operation(
    {
      name: "open_safe",
      input: z.object({}),
      rounds: 3,
      timeoutSeconds: 600,
      replay: "result",
      leaseSeconds: 5,
      onLeaseEnd: "report",
      strict,
    },
    async (op) => {
      const { code } = await op.ask("code", form(Code, "What is the code?"))
      await op.ask("sure", form(z.object({ sure: z.boolean() }), code === "1234" ? "Open?" : "Wrong code. Go on?"))
      return op.commit({
        effect: async () => {
          counted.opened += 1
          return done({ code }, "Opened.")
        },
      })
    },
  )
  return { definition, counted }
}

const say = (code: unknown) => ({ code: { action: "accept", content: { code } } })
const sure = { sure: { action: "accept", content: { sure: true } } }

it("a strict round takes one answer: no other is tried with the same state", async () => {
  const { ask, report } = stage()
  const { definition } = safe(true)
  const { state } = await ask(definition)
  await ask(definition, { state, responses: say("0000") })
  expect(await report(definition, { state, responses: say("1234") })).toMatchObject({
    status: "already_used",
    recorded: "answered",
    retryable: false,
  })
})

it("the same answer again goes on as the first time, after a lost response too", async () => {
  const { ask, report } = stage()
  const { definition, counted } = safe(true)
  const { state } = await ask(definition)
  await ask(definition, { state, responses: say("1234") })
  const again = await ask(definition, { state, responses: say("1234") })
  expect(again.requests).toMatchObject({ sure: { params: { message: "Open?" } } })
  const last = { state: again.state, responses: sure }
  expect(await report(definition, last)).toMatchObject({ status: "completed" })
  expect(await report(definition, last)).toMatchObject({ status: "completed" })
  expect(counted.opened).toBe(1)
})

it("an answer that is none counts too, and a missing one does not", async () => {
  const { ask, report } = stage()
  const { definition } = safe(true)
  const { state } = await ask(definition)
  await ask(definition, { state, responses: {} })
  const asked = await ask(definition, { state, responses: say(7) })
  expect(await report(definition, { state, responses: say("1234") })).toMatchObject({ status: "already_used" })
  await ask(definition, { state: asked.state, responses: say("1234") })
})

it("an earlier branch ends nothing once a later round is answered", async () => {
  const { ask, report } = stage()
  const { definition, counted } = safe(true)
  const { state } = await ask(definition)
  const { state: later } = await ask(definition, { state, responses: say("1234") })
  await report(definition, { state: later, responses: sure })
  expect(await report(definition, { state, responses: { code: { action: "decline" } } })).toMatchObject({
    status: "already_used",
    recorded: "completed",
  })
  expect(counted.opened).toBe(1)
})

it("a decline of a strict round is final", async () => {
  const { ask, report } = stage()
  const { definition } = safe(true)
  const { state } = await ask(definition)
  expect(await report(definition, { state, responses: { code: { action: "decline" } } })).toMatchObject({
    status: "declined",
  })
  expect(await report(definition, { state, responses: say("1234") })).toMatchObject({ status: "already_used" })
})

it("rounds that are not strict take several answers, and cost no ledger call", async () => {
  const { ask, parts } = stage()
  let calls = 0
  const { definition } = safe(false)
  const counting = new Proxy(parts.ledger, {
    get(ledger, verb, receiver) {
      calls += 1
      return Reflect.get(ledger, verb, receiver)
    },
  })
  const counted = stage({ ...parts, ledger: counting })
  const { state } = await ask(definition)
  await counted.ask(definition, { state, responses: say("0000") })
  await counted.ask(definition, { state, responses: say("1234") })
  expect(calls).toBe(0)
})
