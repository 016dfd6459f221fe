import { randomBytes } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { z } from "zod"
import { post, type Spoken, speak, told } from "./client.ts"
import type { HeldClaim, Input, Kind, Seen, Told } from "./history.ts"
import { keyedOperation } from "./keyed.ts"
import type { Random } from "./random.ts"
import type { World } from "./world.ts"

/** An operation under test: what may be sent to finish it, and all that was seen of it. */
export interface Subject {
  readonly kind: Kind
  readonly tenant: string
  /** The database's name, or the label that the counter knows it by. */
  readonly name: string
  readonly inputs: readonly [Input, ...Input[]]
  readonly seen: Seen[]
  readonly claims: readonly HeldClaim[]
  readonly send: (input: Input, patience?: number) => Promise<Told>
}

const TEMPERS = ["steady", "steady", "reluctant", "rude", "slow", "fickle"] as const

export const TENANTS = ["acme", "globex", "initech"] as const

/** How each kind is called, and what may be answered. */
const TOOLS = {
  provision: { tool: "provision_database", key: "region", values: ["eu-west-1", "us-east-1"] },
  report: { tool: "report", key: "choice", values: ["left", "right"] },
  rerun: { tool: "rerun", key: "choice", values: ["left", "right"] },
} as const

const REDEEM_DEADLINE_MS = 900_000

let names = 0

function freshName(kind: Kind): string {
  names += 1
  return `${kind}-${names}`
}

/** Sends an input once, and puts down what was sent and heard. The client goes away after `patience` milliseconds. */
export async function ask(subject: Subject, input: Input, patience?: number): Promise<Told> {
  const sent = performance.now()
  const told = await subject.send(input, patience)
  subject.seen.push({ input, told, sent, heard: performance.now() })
  return told
}

export type Temper = (typeof TEMPERS)[number]

/** Begins an operation. The temper says how the first run of a counted effect fares. */
export async function begin(
  world: World,
  random: Random,
  kind: Kind,
  tenant: string,
  temper: Temper = random.oneOf(TEMPERS),
): Promise<Subject> {
  switch (kind) {
    case "redeem":
      return redemption(world, random, tenant)
    case "keyed report":
    case "keyed rerun":
      return keyedOperation(world, random, { kind, tenant, name: freshName(kind), temper })
    default:
      return dialogue(world, random, kind, tenant, temper)
  }
}

/** Asks until there is a question; at times the first answer is a bad one, so that there are two states to go on from. */
async function dialogue(
  world: World,
  random: Random,
  kind: keyof typeof TOOLS,
  tenant: string,
  temper: Temper,
): Promise<Subject> {
  const name = freshName(kind)
  const { tool, key, values } = TOOLS[kind]
  const sent = kind === "provision" ? { name } : { label: name, temper }
  const call = { token: await world.token(tenant), name: tool, arguments: sent }
  const accept = (content: object) => ({ [key]: { action: "accept", content } })

  const first = await stateFrom(() => speak(world, call))
  const badAnswer = { ...call, requestState: first, inputResponses: accept({}) }
  const states = [first, ...(random.chance(0.3) ? [await stateFrom(() => speak(world, badAnswer))] : [])]
  const answers = [
    ...values.map((value) => accept({ [key]: value })),
    ...(random.chance(0.3) ? [{ [key]: { action: random.oneOf(["decline", "cancel"]) } }] : []),
  ]
  const [input, ...others] = answers.flatMap((one) => states.map((state) => ({ answers: JSON.stringify(one), state })))
  if (input === undefined) throw new Error("An operation needs an answer.")
  return {
    kind,
    tenant,
    name,
    inputs: [input, ...others],
    seen: [],
    claims: [],
    send: async ({ answers, state }, patience) =>
      told(await speak(world, { ...call, requestState: state, inputResponses: JSON.parse(answers) }, patience)),
  }
}

async function stateFrom(speakOnce: () => Promise<Spoken | { readonly why: string }>): Promise<string> {
  for (;;) {
    const spoken = await speakOnce()
    if ("result" in spoken && spoken.result.resultType === "input_required") return spoken.result.requestState
    if (!("why" in spoken)) throw new Error(`A first leg was not asked anything: ${JSON.stringify(spoken)}`)
    await sleep(50)
  }
}

const Redeemed = z.object({ status: z.string(), sameInput: z.boolean() })

/** No dialogue: several callers who redeem one operation, each with a name of its own. */
async function redemption(world: World, random: Random, tenant: string): Promise<Subject> {
  const operation = randomBytes(12).toString("base64url")
  const home = { region: 1, shard: random.whole(2) }
  const key = { tenant, operation, deadline: Date.now() + REDEEM_DEADLINE_MS, home }
  const by = () => ({ answers: JSON.stringify([...randomBytes(16)]), state: "" })
  return {
    kind: "redeem",
    tenant,
    name: operation,
    inputs: [by(), by(), by()],
    seen: [],
    claims: [],
    async send({ answers }, patience) {
      const answer = await post(world, "/redeem", {}, JSON.stringify({ key, by: JSON.parse(answers) }), patience)
      return "why" in answer ? { says: "nothing", why: answer.why } : redeemed(Redeemed.parse(answer.json))
    },
  }
}

function redeemed({ status, sameInput }: z.infer<typeof Redeemed>): Told {
  if (status === "settled" || (status === "recorded" && sameInput))
    return { says: "outcome", outcome: "completed", result: "redeemed" }
  if (status === "recorded") return { says: "already_used", recorded: "completed" }
  return { says: "nothing", why: status }
}
