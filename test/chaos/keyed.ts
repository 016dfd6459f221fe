import { randomBytes } from "node:crypto"
import { z } from "zod"
import { post } from "./client.ts"
import type { HeldClaim, Input, KeyedKind, Told } from "./history.ts"
import type { Random } from "./random.ts"
import type { Subject, Temper } from "./subject.ts"
import type { World } from "./world.ts"

const LEASE_SECONDS = 1
const RETENTION_SECONDS = 86_400
const TRIES_TO_END = 3
const NOTHING_COUNTED = "Nothing was counted."

const Bytes = z.array(z.int())

const Answer = z.discriminatedUnion("status", [
  z.object({ status: z.literal("claimed"), claim: Bytes, attempt: z.int() }),
  z.object({ status: z.literal("recorded"), outcome: z.string(), body: Bytes }),
  z.object({ status: z.literal("unknown"), attempt: z.int() }),
  z.object({ status: z.enum(["running", "mismatch", "ended", "stale", "renewed", "not_unknown"]) }),
])

type Claimed = Extract<z.infer<typeof Answer>, { status: "claimed" }>
/** The number of the attempt whose outcome is unknown. */
type Unknown = { readonly unknown: number }
type Ran = Claimed & { readonly ending: Ending }
type Ending = { readonly outcome: "completed" | "failed"; readonly body: number[] } | { readonly outcome: "rerun" }

const Receipt = z.object({ receipt: z.string() })

/**
 * Servers elsewhere that run one operation under a key of their own, each for the input that it was given: it begins,
 * runs the effect and says what came of it, and may vanish at every step.
 */
export function keyedOperation(
  world: World,
  random: Random,
  { kind, tenant, name, temper }: Pick<Subject, "tenant" | "name"> & { kind: KeyedKind; temper: Temper },
): Subject {
  const policy = kind === "keyed report" ? "report" : "rerun"
  const key = { tenant, caller: "a server", key: name, ...(random.chance(0.5) && { principal: "user" }) }
  const claims: HeldClaim[] = []
  /** All who may have begun the effect and do not know yet what came of it. */
  const working = new Set<Promise<unknown>>()
  /** Somebody finds out what became of attempts that vanished, and says so. */
  const hasOperator = random.chance(0.5)
  let operatorIsBusy = false

  async function call(verb: string, parameters: object, patience?: number): Promise<z.infer<typeof Answer> | Told> {
    const answer = await post(world, "/keyed", {}, JSON.stringify({ verb, key, ...parameters }), patience)
    return "why" in answer ? nothing(answer.why) : Answer.parse(answer.json)
  }

  async function send({ answers }: Input, patience?: number): Promise<Told> {
    const work = beginAndRun(answers, patience)
    working.add(work)
    const ran = await work.finally(() => working.delete(work))
    if ("says" in ran) return ran
    if ("unknown" in ran) return hasOperator && !operatorIsBusy ? operate(ran.unknown) : { says: "outcome_unknown" }
    return random.chance(0.1) ? nothing("vanished") : end(ran)
  }

  /** What stands in the record; or the claim that was given, and how the attempt is to end. */
  async function beginAndRun(answers: string, patience?: number): Promise<Told | Unknown | Ran> {
    const attempt = {
      attempt: [...randomBytes(16)],
      fingerprint: Array.from({ length: 16 }, (_, index) => answers.charCodeAt(index % answers.length)),
      leaseSeconds: LEASE_SECONDS,
      onLeaseEnd: policy,
      retentionSeconds: RETENTION_SECONDS,
    }
    const begin = () => call("begin", { attempt, waitSeconds: random.oneOf([0, 0, 1]) }, patience)
    const lost = await begin()
    // Whoever has not gone away asks again, and is known by its attempt.
    const begun = "says" in lost && patience === undefined ? await begin() : lost
    if ("says" in begun) return begun
    if (begun.status === "unknown") return { unknown: begun.attempt }
    if (begun.status !== "claimed") return toldBy(begun)
    claims.push({ attempt: begun.attempt, claim: begun.claim.join() })
    // Who may be too late for the lease does not begin the effect; who does not look may end it late.
    const isTooLate = random.chance(0.3) && !(await renews(begun))
    const ending: Ending | undefined = isTooLate ? { outcome: "rerun" } : await run()
    return ending === undefined ? nothing("vanished") : { ...begun, ending }
  }

  async function renews({ claim }: Claimed): Promise<boolean> {
    const answer = await call("renew", { claim, leaseSeconds: LEASE_SECONDS + 1 })
    return "status" in answer && answer.status === "renewed"
  }

  /** How the attempt is to end; `undefined` when it is not known what happened. */
  async function run(): Promise<Ending | undefined> {
    const body = JSON.stringify({ label: name, temper, policy, key: name })
    const response = await fetch(world.counterUrl, { method: "POST", body }).catch(() => undefined)
    if (response === undefined) return undefined
    if (response.ok) return completed(Receipt.parse(await response.json()).receipt)
    // Where an attempt before this one vanished, its effect may have happened.
    return policy === "report" && random.chance(0.2) ? failed() : { outcome: "rerun" }
  }

  async function end({ claim, ending }: Ran): Promise<Told> {
    for (let left = TRIES_TO_END; left > 0; left--) {
      const answer = await call("end", { claim, ending })
      if ("status" in answer) return answer.status === "stale" ? nothing("superseded") : toldOf(ending)
    }
    return nothing("lost")
  }

  /** Waits for all who may still make it happen, looks whether it has, and says so. */
  async function operate(attempt: number): Promise<Told> {
    operatorIsBusy = true
    try {
      await Promise.all(working)
      const counted = (await world.counted()).find(({ label }) => label === name)
      const otherwise: Ending = random.chance(0.5) ? failed() : { outcome: "rerun" }
      const ending = counted ? completed(counted.receipt) : otherwise
      const answer = await call("resolve", { ending, attempt })
      return "status" in answer && answer.status === "ended" ? toldOf(ending) : nothing("not resolved")
    } finally {
      operatorIsBusy = false
    }
  }

  return { kind, tenant, name, inputs: [input("left"), input("right")], seen: [], claims, send }
}

function input(answers: string): Input {
  return { answers, state: "" }
}

function completed(receipt: string): Ending {
  return { outcome: "completed", body: [...Buffer.from(receipt)] }
}

function failed(): Ending {
  return { outcome: "failed", body: [...Buffer.from(NOTHING_COUNTED)] }
}

function toldOf(ending: Ending): Told {
  if (ending.outcome === "rerun") return { says: "given_back" }
  return { says: "outcome", outcome: ending.outcome, result: String.fromCharCode(...ending.body) }
}

function toldBy(answer: Exclude<z.infer<typeof Answer>, { status: "claimed" | "unknown" }>): Told {
  switch (answer.status) {
    case "recorded":
      return { says: "outcome", outcome: answer.outcome, result: String.fromCharCode(...answer.body) }
    case "running":
      return { says: "in_progress" }
    case "mismatch":
      return { says: "mismatch" }
    default:
      return nothing(answer.status)
  }
}

function nothing(why: string): Told {
  return { says: "nothing", why }
}
