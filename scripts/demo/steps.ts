import { type Answers, type Reply, type Target, Visitor } from "./visitor.ts"

/** One thing that the demonstration shows. `run` gives what was seen, and throws `Unexpected` when it is not right. */
export interface Step {
  readonly title: string
  run(target: Target): Promise<string>
}

/** The server did what it must not do, or did not do what it must. */
export class Unexpected extends Error {}

const ALICE = { principal: "alice", tenant: "acme" }
const BOB = { principal: "bob", tenant: "acme" }
const ALICE_ELSEWHERE = { principal: "alice", tenant: "globex" }

const accept = (region: string): Answers => ({ region: { action: "accept", content: { region } } })
const YES = accept("eu-west-1")
const NO: Answers = { region: { action: "decline" } }
const REFUSED = -32602

/** Everything that fits in the life of a state. */
export const STEPS: readonly Step[] = [
  {
    title: "Alice asks for a database and chooses a region",
    run: as(ALICE, async (alice) => {
      const asked = await alice.provision("orders")
      if (asked.kind !== "question") throw new Unexpected("there was no question")
      const made = await alice.provision("orders", { state: asked.state, answers: YES })
      expectOutcome(made, "completed")
      await expectCreated(alice, "orders", 1)
      return `"${asked.message}" -> ${made.text}`
    }),
  },
  {
    title: "Her client sends the same again, as after a lost response",
    run: as(ALICE, async (alice) => {
      const state = await alice.ask("replayed")
      const first = await alice.provision("replayed", { state, answers: YES })
      const second = await alice.provision("replayed", { state, answers: YES })
      expectOutcome(second, "completed")
      expectSame(first, second)
      await expectCreated(alice, "replayed", 1)
      return `the recorded result: ${second.text}`
    }),
  },
  {
    title: "It sends another answer for what is spent",
    run: as(ALICE, async (alice) => {
      const state = await alice.ask("spent")
      await alice.provision("spent", { state, answers: YES })
      const other = await alice.provision("spent", { state, answers: accept("us-east-1") })
      expectOutcome(other, "already_used")
      await expectCreated(alice, "spent", 1)
      return other.text
    }),
  },
  {
    title: "Each character of the state is changed, one at a time",
    run: as(ALICE, async (alice) => {
      const state = await alice.ask("tampered")
      for (let at = 0; at < state.length; at += 1) {
        const changed = state.slice(0, at) + (state[at] === "A" ? "B" : "A") + state.slice(at + 1)
        expectRefused(await alice.provision("tampered", { state: changed, answers: YES }))
      }
      await expectCreated(alice, "tampered", 0)
      return `${state.length} changes, ${state.length} refusals`
    }),
  },
  {
    title: "Bob sends Alice's state",
    run: (target) => stolen(target, "by-bob", BOB),
  },
  {
    title: "Alice of another tenant sends it",
    run: (target) => stolen(target, "by-a-tenant", ALICE_ELSEWHERE),
  },
  {
    title: "Alice changes the arguments after she was asked",
    run: as(ALICE, async (alice) => {
      const state = await alice.ask("asked")
      expectRefused(await alice.provision("other", { state, answers: YES }))
      await expectCreated(alice, "other", 0)
      return "refused"
    }),
  },
  {
    title: "Alice declines, then somebody says yes",
    run: as(ALICE, async (alice) => {
      const state = await alice.ask("declined")
      expectOutcome(await alice.provision("declined", { state, answers: NO }), "declined")
      const yes = await alice.provision("declined", { state, answers: YES })
      expectOutcome(yes, "already_used")
      await expectCreated(alice, "declined", 0)
      return yes.text
    }),
  },
  {
    title: "Twenty retries race",
    run: as(ALICE, async (alice) => {
      const state = await alice.ask("raced")
      const racers = Array.from({ length: 20 }, () => alice.provision("raced", { state, answers: YES }))
      const statuses = (await Promise.all(racers)).map((one) => (one.kind === "outcome" ? one.status : one.kind))
      if (!statuses.includes("completed")) throw new Unexpected("nobody won")
      await expectCreated(alice, "raced", 1)
      return `one database; ${count(statuses)}`
    }),
  },
  {
    title: "Answers come without state",
    run: as(ALICE, async (alice) => {
      const asked = await alice.provision("unasked", { answers: YES })
      if (asked.kind !== "question") throw new Unexpected("consent counted that nobody was asked for")
      const again = await alice.provision("unasked", { state: asked.state })
      if (again.kind !== "question") throw new Unexpected("consent that nobody was asked for was kept in the state")
      await expectCreated(alice, "unasked", 0)
      return "asked again"
    }),
  },
]

/** The step for a server whose states live `seconds`. */
export function expiry(seconds: number): Step {
  return {
    title: `Alice answers after the state's ${seconds} seconds`,
    run: as(ALICE, async (alice) => {
      const [late, spent] = [await alice.ask("late"), await alice.ask("in-time")]
      await alice.provision("in-time", { state: spent, answers: YES })
      await new Promise((resolve) => setTimeout(resolve, seconds * 1_000 + 200))
      expectRefused(await alice.provision("late", { state: late, answers: YES }))
      await expectCreated(alice, "late", 0)
      expectOutcome(await alice.provision("in-time", { state: spent, answers: YES }), "completed")
      return "refused; but what was recorded in time is still shown to its exact repeat"
    }),
  }
}

function as(who: typeof ALICE, visit: (visitor: Visitor) => Promise<string>): Step["run"] {
  return async (target) => {
    const visitor = await Visitor.connect(target, who)
    try {
      return await visit(visitor)
    } finally {
      await visitor.leave()
    }
  }
}

function stolen(target: Target, name: string, thief: typeof ALICE): Promise<string> {
  return as(ALICE, async (alice) => {
    const state = await alice.ask(name)
    return as(thief, async (visitor) => {
      expectRefused(await visitor.provision(name, { state, answers: YES }))
      await expectCreated(visitor, name, 0)
      await expectCreated(alice, name, 0)
      return "refused"
    })(target)
  })(target)
}

function expectOutcome(reply: Reply, status: string): asserts reply is Extract<Reply, { kind: "outcome" }> {
  const got = reply.kind === "outcome" ? reply.status : reply.kind
  if (got !== status) throw new Unexpected(`${status} was due, and it was ${got}`)
}

function expectRefused(reply: Reply): void {
  if (reply.kind !== "refused" || reply.code !== REFUSED)
    throw new Unexpected(`a refusal was due, and it was ${reply.kind}`)
}

function expectSame(first: Reply, second: Reply): void {
  if (JSON.stringify(first) !== JSON.stringify(second)) throw new Unexpected("the repeat was answered otherwise")
}

async function expectCreated(visitor: Visitor, name: string, times: number): Promise<void> {
  const found = (await visitor.created()).filter((one) => one === name).length
  if (found !== times) throw new Unexpected(`${name} exists ${found} times instead of ${times}`)
}

function count(statuses: readonly string[]): string {
  const counted = Map.groupBy(statuses, (status) => status)
  return [...counted].map(([status, all]) => `${all.length} ${status}`).join(", ")
}
