import { describe, expect, it } from "vitest"
import { z } from "zod"
import { done, form, inquiry, operation, type Question, roots, sampling, url } from "../../src/operation/index.ts"
import { stage } from "./stage.ts"

const Size = z.object({ size: z.number().int().min(1).max(9) })
const Name = z.object({ name: z.string().min(1) })
const RULES = { input: z.object({}), rounds: 4, timeoutSeconds: 600 }

const accept = (content: Record<string, unknown>) => ({ action: "accept", content })

/** An inquiry that puts one question and returns its answer. */
function asking<Answer>(question: Question<Answer>) {
  return inquiry({ ...RULES, name: "asking" }, (dialogue) => dialogue.ask("it", question))
}

describe("each kind of question", () => {
  const finished = { yet: false }
  const sample = { role: "assistant", content: { type: "text", text: "Paris" }, model: "m-1", stopReason: "endTurn" }
  const kinds: [string, Question<unknown>, object, unknown, unknown[]][] = [
    [
      "form",
      form(Size, "How large?"),
      { method: "elicitation/create", params: { mode: "form", message: "How large?" } },
      accept({ size: 3, unasked: true }),
      [
        undefined,
        null,
        7,
        [],
        {},
        { action: "accept" },
        accept({}),
        accept({ size: "3" }),
        accept({ size: 10 }),
        { action: "accept", content: [] },
      ],
    ],
    [
      "url",
      url("https://example.test/pay", "Pay.", () => finished.yet),
      { method: "elicitation/create", params: { mode: "url", message: "Pay.", url: "https://example.test/pay" } },
      { action: "accept" },
      [undefined, null, 7, { action: "done" }],
    ],
    [
      "sampling",
      sampling({ messages: [{ role: "user", content: { type: "text", text: "Capital of France?" } }], maxTokens: 9 }),
      { method: "sampling/createMessage", params: { maxTokens: 9 } },
      sample,
      [
        undefined,
        { ...sample, role: "system" },
        { ...sample, model: 7 },
        { role: "assistant" },
        accept({ text: "Paris" }),
      ],
    ],
    [
      "roots",
      roots(),
      { method: "roots/list" },
      { roots: [{ uri: "file:///home", name: "home" }] },
      [undefined, { roots: [7] }, { roots: {} }, { roots: [{ uri: "https://example.test" }] }, accept({ roots: [] })],
    ],
  ]

  it.each(kinds)(
    "%s is asked as the specification writes it, and put again until it is answered",
    async (_kind, question, wire, good, bad) => {
      const { runInquiry } = stage()
      const first = await runInquiry(asking(question))
      expect(first).toMatchObject({ kind: "ask", requests: { it: wire } })
      if (first.kind !== "ask") return
      finished.yet = true
      for (const response of bad) {
        const again = await runInquiry(asking(question), { state: first.state, responses: { it: response } })
        expect(again).toMatchObject({ kind: "ask", requests: { it: wire } })
      }
      finished.yet = false
      if (_kind === "url") {
        expect(await runInquiry(asking(question), { state: first.state, responses: { it: good } })).toMatchObject({
          kind: "ask",
        })
      }
      finished.yet = true
      expect(await runInquiry(asking(question), { state: first.state, responses: { it: good } })).toMatchObject({
        kind: "result",
      })
    },
  )

  it("is not sent as a form where a form cannot show it", () => {
    for (const schema of [z.object({ a: z.object({}) }), z.object({ a: z.string().regex(/x/) })]) {
      expect(() => form(schema, "?")).toThrow(TypeError)
    }
  })
})

describe("several questions together", () => {
  const ordered: unknown[] = []
  const order = operation(
    { ...RULES, name: "order", replay: "result", leaseSeconds: 5, onLeaseEnd: "report" },
    async (op) => {
      const { size, name } = await op.askAll({ size: form(Size, "How large?"), name: form(Name, "Whose?") })
      return op.commit({
        effect: async () => {
          ordered.push([size.size, name.name])
          return done({}, "Ordered.")
        },
      })
    },
  )

  it("travel in one round", async () => {
    const { ask, report } = stage()
    const { state, requests } = await ask(order)
    expect(Object.keys(requests)).toEqual(["size", "name"])
    const responses = { name: accept({ name: "Ada" }), size: accept({ size: 2 }) }
    expect(await report(order, { state, responses })).toMatchObject({ status: "completed" })
    expect(ordered).toEqual([[2, "Ada"]])
  })

  it("are put again alone where they are missing, and keep what was answered", async () => {
    ordered.length = 0
    const { ask, report } = stage()
    const first = await ask(order)
    const second = await ask(order, {
      state: first.state,
      responses: { name: accept({ name: "Eve" }), size: accept({ size: 0 }) },
    })
    expect(Object.keys(second.requests)).toEqual(["size"])
    const third = await ask(order, { state: second.state, responses: { name: accept({ name: "Mallory" }) } })
    expect(Object.keys(third.requests)).toEqual(["size"])
    expect(await report(order, { state: third.state, responses: { size: accept({ size: 4 }) } })).toMatchObject({
      status: "completed",
    })
    expect(ordered).toEqual([[4, "Eve"]])
  })

  it("end with the first no among them", async () => {
    const { ask, report } = stage()
    const { state } = await ask(order)
    const responses = { size: accept({ size: 2 }), name: { action: "cancel" } }
    expect(await report(order, { state, responses })).toMatchObject({ status: "cancelled" })
  })
})

describe("an inquiry", () => {
  const greet = inquiry({ ...RULES, name: "greet" }, async (dialogue) => {
    const { name } = await dialogue.ask("name", form(Name, "Whose?"))
    const { size } = await dialogue.ask("size", form(Size, "How large?"))
    return { greeted: `${name}, ${size}` }
  })

  it("returns its result when all is answered, and calls no ledger", async () => {
    const { runInquiry } = stage({ ledger: undefined as never })
    const first = await runInquiry(greet)
    if (first.kind !== "ask") throw new Error(first.kind)
    const second = await runInquiry(greet, { state: first.state, responses: { name: accept({ name: "Ada" }) } })
    if (second.kind !== "ask") throw new Error(second.kind)
    const last = { state: second.state, responses: { size: accept({ size: 2 }) } }
    for (let time = 0; time < 2; time += 1) {
      expect(await runInquiry(greet, last)).toEqual({ kind: "result", result: { greeted: "Ada, 2" } })
    }
  })

  it("takes answers without state, for one step", async () => {
    const { runInquiry } = stage()
    const both = { name: accept({ name: "Ada" }), size: accept({ size: 2 }) }
    expect(await runInquiry(greet, { responses: both })).toMatchObject({ kind: "ask", requests: { size: {} } })
  })

  it("passes on a person's no", async () => {
    const { runInquiry } = stage()
    expect(await runInquiry(greet, { responses: { name: { action: "decline" } } })).toMatchObject({
      kind: "report",
      report: { status: "declined", retryable: false },
    })
  })

  it("takes no state whose time is over, though its last answer came with it", async () => {
    let now = Date.now()
    const { runInquiry } = stage({}, () => now)
    const first = await runInquiry(asking(form(Name, "Whose?")))
    if (first.kind !== "ask") throw new Error(first.kind)
    now += 60_001
    const late = { state: first.state, responses: { it: accept({ name: "Ada" }) } }
    expect(await runInquiry(asking(form(Name, "Whose?")), late)).toEqual({ kind: "refused", reason: "expired" })
  })

  it("stops after its last round", async () => {
    const { runInquiry } = stage()
    let end = await runInquiry(greet)
    for (let round = 2; round <= 5 && end.kind === "ask"; round += 1)
      end = await runInquiry(greet, { state: end.state })
    expect(end).toMatchObject({ kind: "report", report: { status: "rounds_exceeded" } })
  })
})
