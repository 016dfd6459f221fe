import { expect, it } from "vitest"
import { z } from "zod"
import { done, form, operation } from "../../src/operation/index.ts"
import { stage } from "./stage.ts"

const Code = z.object({ code: z.string().length(4) })

const STRICT = {
  name: "open_safe",
  input: z.object({}),
  rounds: 3,
  timeoutSeconds: 600,
  replay: "result",
  leaseSeconds: 5,
  onLeaseEnd: "report",
  strict: true,
} as const

/** Opens where the code is right; a wrong one ends it. */
function safe(strict: boolean) {
  const counted = { opened: 0 }
  const definition = operation({ ...STRICT, strict }, async (op) => {
    const { code } = await op.ask("code", form(Code, "What is the code?"))
    await op.ask("sure", form(z.object({ sure: z.boolean() }), code === "1234" ? "Open?" : "Wrong code. Go on?"))
    return op.commit({
      effect: async () => {
        counted.opened += 1
        return done({ code }, "Opened.")
      },
    })
  })
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

it("an invalid answer spends nothing, and neither does a missing one", async () => {
  const { ask, report } = stage()
  const { definition } = safe(true)
  const { state } = await ask(definition)
  await ask(definition, { state, responses: {} })
  await ask(definition, { state, responses: say(7) })
  await ask(definition, { state, responses: say("1234") })
  expect(await report(definition, { state, responses: say("0000") })).toMatchObject({ status: "already_used" })
})

it("one answer of several counts too", async () => {
  const { ask, report } = stage()
  const both = operation({ ...STRICT, name: "both" }, async (op) => {
    await op.askAll({ code: form(Code, "Code?"), sure: form(z.object({ sure: z.boolean() }), "Sure?") })
    return op.commit({ effect: async () => done({}, "Opened.") })
  })
  const { state } = await ask(both)
  await ask(both, { state, responses: say("0000") })
  expect(await report(both, { state, responses: say("1234") })).toMatchObject({ status: "already_used" })
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
