import { expect, it } from "vitest"
import { z } from "zod"
import type { LedgerClient } from "../../src/ledger/index.ts"
import {
  type Call,
  changed,
  denied,
  done,
  type EffectResult,
  failed,
  form,
  type LegEnd,
  type OperationRules,
  operation,
  url,
} from "../../src/operation/index.ts"
import { stage } from "./stage.ts"

const RULES = {
  name: "buy",
  input: z.object({ what: z.string().optional() }),
  rounds: 2,
  timeoutSeconds: 600,
  replay: "result",
  leaseSeconds: 5,
  onLeaseEnd: "report",
} as const

const YES = { approval: { action: "accept", content: { approved: true } } }
const NO = { approval: { action: "accept", content: { approved: false } } }
const INVALID = { approval: { action: "accept", content: { approved: "yes" } } }

/** An operation in a world that may change between its legs, on a ledger that notes how it is called. */
function scene(rules: Partial<OperationRules> = {}) {
  const world = {
    policy: "1",
    price: 10,
    budget: 100,
    paid: true,
    question: "Buy?",
    ahead: 0,
    effect: async (): Promise<EffectResult> => done({}, "Bought."),
  }
  const calls: string[] = []
  const { parts } = stage()
  const ledger = new Proxy(parts.ledger, {
    get(target, verb: keyof LedgerClient) {
      calls.push(verb)
      return target[verb]
    },
  })
  const { run, ask } = stage({ ledger }, () => Date.now() + world.ahead)
  const definition = () =>
    operation({ ...RULES, ...rules, policyVersion: () => world.policy }, async (op) => {
      const price = await op.pin("price", z.number(), () => world.price)
      await op.askAll({
        approval: form(z.object({ approved: z.boolean() }), world.question),
        payment: url("https://pay.test/", "Pay.", () => world.paid),
      })
      return op.commit({
        recheck: [
          () => (world.price === price ? undefined : changed("The price rose.")),
          () => (price <= world.budget ? undefined : denied("No budget.")),
        ],
        effect: () => world.effect(),
      })
    })
  return {
    world,
    calls,
    first: async () => (await ask(definition())).state,
    send: (state: string | undefined, answers: object, call: Partial<Call> = {}) =>
      run(definition(), { state, responses: { payment: { action: "accept" }, ...answers }, ...call }),
  }
}

type Scene = ReturnType<typeof scene>

/** One row of the contract: what happens, what is said of it, and what the ledger has to do with it. */
interface Row {
  readonly event: string
  readonly rules?: Partial<OperationRules>
  /** Brings it about on an operation that was asked about; gives how the leg ended. */
  readonly happens: (scene: Scene, state: string) => Promise<LegEnd>
  readonly says: string
  readonly nextAction?: RegExp
  /** The calls of that leg alone. */
  readonly ledger: readonly string[]
  /** What a plain yes to the first question comes to afterwards. */
  readonly afterwards: string
}

const NOTHING_MORE = /^Nothing: this is final\.$/
const SOMETHING_ELSE = /propose something else/
const ANEW = /^Call again without requestState/
const SAME_STATE = /same requestState again/

/** A leg before the one that counts: its calls on the ledger are another row's. */
async function before({ calls }: Scene, leg: Promise<unknown>): Promise<void> {
  await leg
  calls.length = 0
}

const ROWS: readonly Row[] = [
  {
    event: "needs input",
    happens: ({ send }) => send(undefined, {}),
    says: "asks approval, payment",
    ledger: [],
    afterwards: "completed",
  },
  {
    event: "an answer is missing",
    happens: ({ send }, state) => send(state, {}),
    says: "asks approval",
    ledger: [],
    afterwards: "completed",
  },
  {
    event: "an answer is invalid",
    happens: ({ send }, state) => send(state, INVALID),
    says: "asks approval",
    ledger: [],
    afterwards: "completed",
  },
  {
    event: "what a URL is for is not finished",
    async happens({ send, world }, state) {
      world.paid = false
      const end = await send(state, YES)
      world.paid = true
      return end
    },
    says: "asks payment",
    ledger: [],
    afterwards: "completed",
  },
  {
    event: "accept, all well",
    happens: ({ send }, state) => send(state, YES),
    says: "completed",
    nextAction: NOTHING_MORE,
    ledger: ["claim", "record"],
    afterwards: "completed",
  },
  {
    event: "exact repeat after an outcome",
    async happens(scene, state) {
      await before(scene, scene.send(state, YES))
      return scene.send(state, YES)
    },
    says: "completed",
    nextAction: NOTHING_MORE,
    ledger: ["claim"],
    afterwards: "completed",
  },
  {
    event: "exact repeat, where the operation rejects it",
    rules: { replay: "reject" },
    async happens(scene, state) {
      await before(scene, scene.send(state, YES))
      return scene.send(state, YES)
    },
    says: "already_used completed",
    nextAction: /^Look at what exists/,
    ledger: ["claim"],
    afterwards: "already_used completed",
  },
  {
    event: "other answers after an outcome",
    async happens(scene, state) {
      await before(scene, scene.send(state, YES))
      return scene.send(state, NO)
    },
    says: "already_used completed",
    nextAction: /^Look at what exists/,
    ledger: ["claim"],
    afterwards: "completed",
  },
  {
    event: "answers on another branch after an outcome",
    async happens(scene, state) {
      const branch = await scene.send(state, { approval: INVALID.approval })
      await before(scene, scene.send(state, YES))
      return scene.send(branch.kind === "ask" ? branch.state : "", YES)
    },
    says: "already_used completed",
    ledger: ["claim"],
    afterwards: "completed",
  },
  {
    event: "decline",
    happens: ({ send }, state) => send(state, { approval: { action: "decline" } }),
    says: "declined",
    nextAction: SOMETHING_ELSE,
    ledger: ["settle"],
    afterwards: "already_used declined",
  },
  {
    event: "cancel",
    happens: ({ send }, state) => send(state, { approval: { action: "cancel" } }),
    says: "cancelled",
    nextAction: SOMETHING_ELSE,
    ledger: ["settle"],
    afterwards: "already_used cancelled",
  },
  {
    event: "the price changed since it was asked",
    async happens({ send, world }, state) {
      world.price = 11
      return send(state, YES)
    },
    says: "policy_changed (retryable)",
    nextAction: ANEW,
    ledger: ["claim", "record"],
    afterwards: "policy_changed (retryable)",
  },
  {
    event: "the policy changed since it was asked",
    async happens({ send, world }, state) {
      world.policy = "2"
      return send(state, YES)
    },
    says: "policy_changed (retryable)",
    nextAction: ANEW,
    ledger: ["settle"],
    afterwards: "policy_changed (retryable)",
  },
  {
    event: "the questions changed since they were asked",
    async happens({ send, world }, state) {
      world.question = "Buy now?"
      return send(state, YES)
    },
    says: "policy_changed (retryable)",
    nextAction: ANEW,
    ledger: ["settle"],
    afterwards: "policy_changed (retryable)",
  },
  {
    event: "authorization or budget no longer given",
    async happens({ send, world }, state) {
      world.budget = 0
      const end = await send(state, YES)
      world.budget = 100
      return end
    },
    says: "failed",
    nextAction: NOTHING_MORE,
    ledger: ["claim", "record"],
    afterwards: "failed",
  },
  {
    event: "effect failed, sure that nothing happened",
    async happens({ send, world }, state) {
      const { effect } = world
      world.effect = async () => failed("Not now.")
      const end = await send(state, YES)
      world.effect = effect
      return end
    },
    says: "failed (retryable)",
    nextAction: SAME_STATE,
    ledger: ["claim", "release"],
    afterwards: "completed",
  },
  {
    event: "effect's outcome unknown, under `report`",
    happens: vanish,
    says: "outcome_unknown",
    nextAction: /^Check what exists before you ask for it again\.$/,
    ledger: ["claim"],
    afterwards: "in_progress (retryable)",
  },
  {
    event: "effect's outcome unknown, under `rerun`",
    rules: { onLeaseEnd: "rerun" },
    happens: vanish,
    says: "in_progress (retryable)",
    nextAction: SAME_STATE,
    ledger: ["claim"],
    afterwards: "in_progress (retryable)",
  },
  {
    event: "another attempt is running",
    async happens(scene, state) {
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
      scene.world.effect = () => {
        begin()
        return new Promise(() => {})
      }
      void scene.send(state, YES)
      await before(scene, begun)
      return scene.send(state, YES)
    },
    says: "in_progress (retryable)",
    nextAction: SAME_STATE,
    ledger: ["claim"],
    afterwards: "in_progress (retryable)",
  },
  {
    event: "round limit reached",
    async happens(scene, state) {
      const again = await scene.send(state, {})
      return scene.send(again.kind === "ask" ? again.state : "", {})
    },
    says: "rounds_exceeded (retryable)",
    nextAction: ANEW,
    ledger: ["lookup"],
    afterwards: "completed",
  },
  {
    event: "state expired",
    async happens({ send, world }, state) {
      world.ahead = 61_000
      const end = await send(state, YES)
      world.ahead = 0
      return end
    },
    says: "refused: expired",
    ledger: ["lookup"],
    afterwards: "completed",
  },
  {
    event: "state expired after an outcome, exact repeat",
    async happens(scene, state) {
      await before(scene, scene.send(state, YES))
      scene.world.ahead = 61_000
      return scene.send(state, YES)
    },
    says: "completed",
    nextAction: NOTHING_MORE,
    ledger: ["lookup"],
    afterwards: "completed",
  },
  {
    event: "state forged",
    happens: ({ send }, state) => send(`${state.slice(0, 60)}${state[60] === "A" ? "B" : "A"}${state.slice(61)}`, YES),
    says: "refused: forged",
    ledger: [],
    afterwards: "completed",
  },
  {
    event: "state for other arguments",
    happens: ({ send }, state) => send(state, YES, { arguments: { what: "more" } }),
    says: "refused: request",
    ledger: [],
    afterwards: "completed",
  },
  {
    event: "answers without state on an operation with effects",
    happens: ({ send }) => send(undefined, YES),
    says: "asks approval, payment",
    ledger: [],
    afterwards: "completed",
  },
]

async function vanish({ send, world }: Scene, state: string): Promise<LegEnd> {
  world.effect = async () => {
    throw new Error("lost")
  }
  return send(state, YES)
}

function inWords(end: LegEnd): string {
  switch (end.kind) {
    case "ask":
      return `asks ${Object.keys(end.requests).join(", ")}`
    case "refused":
      return `refused: ${end.reason}`
    case "report": {
      const { status, recorded, retryable } = end.report
      return [status, recorded, retryable ? "(retryable)" : undefined].filter(Boolean).join(" ")
    }
  }
}

it.each(ROWS)("$event: $says", async ({ rules, happens, says, nextAction, ledger, afterwards }) => {
  const played = scene(rules)
  const state = await played.first()
  const end = await happens(played, state)
  expect(inWords(end)).toBe(says)
  if (nextAction) expect(end).toMatchObject({ report: { nextAction: expect.stringMatching(nextAction) } })
  expect(played.calls).toEqual(ledger)
  expect(inWords(await played.send(state, YES))).toBe(afterwards)
})
