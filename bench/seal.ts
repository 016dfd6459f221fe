import { deepEqual, equal } from "node:assert/strict"
import type { Json } from "../src/brands.ts"
import { type Bundle, buildBundle, type Recipe } from "../test/support/bundle.ts"
import type { Running } from "../test/support/workerd.ts"
import { type Bed, onBed } from "./lib/bed.ts"
import type { Figure } from "./lib/figures.ts"
import { compare, measureInPairs, type Round } from "./lib/pairs.ts"
import type { Effort } from "./mcp.ts"
import { ASKED, CONTESTANTS, type Contestant, type Name, REFERENCE_STATE, SMALL_STATE } from "./seal/contestants.ts"
import type { Job } from "./seal/job.ts"

const WORKER: Recipe = { config: "bench/seal/wrangler.toml", sources: ["src/seal", "bench/seal"] }

const PEERS = [
  "SDK codec",
  "SDK codec, arguments not digested",
  "JWE dir A256GCM",
  "JWT HS256",
  "PASETO v4.local",
  "iron",
] as const satisfies readonly Name[]

/** About this long a round, so that the way there and back is a hundredth of it. */
const ROUND_SECONDS = 0.1
/** So many steps before anything is timed: the engine has compiled all of them by then. */
const WARM_UP = 5_000
const VERBS = ["seal", "open"] as const

/** Tokens alone: sizes, and speed in workerd and in Node. */
export async function seal(effort: Effort): Promise<Figure[]> {
  for (const name of [...PEERS, "suite 1", "suite 2"] as const) await expectTheSameWork(name)
  const measured = await onBed((bed) => inWorkerd(bed, effort))
  return [...(await sizes()), ...measured, ...(await inNode(effort)), ...(await refusals(effort))]
}

/** Whatever seals must give the state back, and refuse it for another person and for other arguments. */
async function expectTheSameWork(name: Name): Promise<void> {
  const contestant: Contestant = CONTESTANTS[name]()
  const token = await contestant.seal(ASKED, REFERENCE_STATE)
  deepEqual(await contestant.open(ASKED, token), REFERENCE_STATE, `${name} must give the state back.`)
  for (const other of [{ principal: "someone" }, { target: "x" }, { method: "x" }, { arguments: { name: "x" } }]) {
    const opened = await contestant.open({ ...ASKED, ...other }, token).catch(() => undefined)
    equal(opened, undefined, `${name} must refuse another ${Object.keys(other)}.`)
  }
}

/** In characters; for a peer's `ratio`, less is better. */
async function sizes(): Promise<Figure[]> {
  const lengthOf = async (name: Name, state: Readonly<Record<string, string>>) =>
    (await CONTESTANTS[name]().seal(ASKED, state)).length
  const figures: Figure[] = []
  for (const [size, state] of [["reference", REFERENCE_STATE] as const, ["small", SMALL_STATE] as const]) {
    const [name, value, unit] = [`seal.size.${size}`, await lengthOf("suite 1", state), "characters"]
    figures.push({ name, value, unit })
    for (const peer of PEERS) figures.push({ name, value, unit, peer, ratio: value / (await lengthOf(peer, state)) })
  }
  return figures
}

/** All in one isolate of raw workerd. Its clock stands still between requests, so each round is timed from here. */
async function inWorkerd(bed: Bed, effort: Effort): Promise<Figure[]> {
  const bundle = await buildBundle(WORKER)
  const worker = await bed.start(bundle)
  const figures: Figure[] = []
  for (const verb of VERBS) {
    const ours = await roundsIn(worker, { runner: "suite 1", verb })
    for (const peer of PEERS) {
      const theirs = await roundsIn(worker, { runner: peer, verb })
      const pairs = await measureInPairs(effort.pairs, ours, theirs)
      figures.push(compare(`seal.workerd.${verb}`, `${verb}s/s`, peer, pairs))
    }
  }
  const ours = await roundsIn(worker, { runner: "suite 1", verb: "seal" })
  const bare = await roundsIn(worker, { runner: "bare subtle.encrypt", verb: "seal" })
  const limit = await measureInPairs(effort.pairs, ours, bare)
  figures.push(compare("seal.workerd.limit", "seals/s", "one bare subtle.encrypt", limit))
  const cold = await measureInPairs(
    effort.pairs,
    coldRound(bed, bundle, "suite 1"),
    coldRound(bed, bundle, "SDK codec"),
  )
  return [...figures, compare("seal.workerd.cold", "first seals/s", "SDK codec", cold)]
}

/** Rounds of as many steps as fit, found by a short one after the warm-up. */
async function roundsIn(worker: Running, work: Omit<Job, "times">): Promise<Round> {
  const rate = (times: number) => async () => times / (await secondsOf(worker, { ...work, times }))
  await rate(WARM_UP)()
  return rate(Math.ceil(ROUND_SECONDS * (await rate(500)())))
}

/** A new process each time: what it makes, derives and imports for its first seal, without the way there and back. */
function coldRound(bed: Bed, bundle: Bundle, runner: Name): Round {
  return async () => {
    const worker = await bed.start(bundle)
    const nothing = () => secondsOf(worker, { runner: "nothing", verb: "seal", times: 1 })
    for (let warm = 0; warm < 20; warm++) await nothing()
    const way = await nothing()
    const first = await secondsOf(worker, { runner, verb: "seal", times: 1 })
    await worker.kill()
    return 1 / Math.max(first - way, 1e-5)
  }
}

async function secondsOf(worker: Running, job: Job): Promise<number> {
  const body = JSON.stringify(job)
  const began = performance.now()
  const response = await fetch(worker.url, { method: "POST", body })
  equal(await response.text(), "done", `The Worker must do its job: ${job.runner}.`)
  return (performance.now() - began) / 1_000
}

/** The portable suite, which is the faster one here. */
async function inNode({ pairs }: Effort): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const verb of VERBS) {
    const ours = await roundsHere("suite 2", verb)
    for (const peer of PEERS) {
      const measured = await measureInPairs(pairs, ours, await roundsHere(peer, verb))
      figures.push(compare(`seal.node.${verb}`, `${verb}s/s`, peer, measured))
    }
  }
  return figures
}

async function roundsHere(name: Name, verb: (typeof VERBS)[number]): Promise<Round> {
  const contestant: Contestant = CONTESTANTS[name]()
  const token = await contestant.seal(ASKED, REFERENCE_STATE)
  const step = verb === "seal" ? () => contestant.seal(ASKED, REFERENCE_STATE) : () => contestant.open(ASKED, token)
  const rate = (times: number) => async () => {
    const began = performance.now()
    for (let left = times; left > 0; left--) await step()
    return (times * 1_000) / (performance.now() - began)
  }
  await rate(WARM_UP)()
  return rate(Math.ceil(ROUND_SECONDS * (await rate(500)())))
}

const MEBIBYTE = 1_048_576

/** A mebibyte of each kind that a sealer is handed, or as much as is parsed; every one is refused. The slowest of many. */
async function refusals({ pairs }: Effort): Promise<Figure[]> {
  const contestant = CONTESTANTS["suite 1"]()
  const many = new Array(MEBIBYTE / 2).fill(1)
  // As many as a body may bring: more are refused before they are parsed.
  const members = JSON.parse(`{${Array.from({ length: 20_000 }, (_, index) => `"k${index}":0`).join()}}`)
  const args = (value: Json) => () => contestant.seal({ ...ASKED, arguments: { value } }, REFERENCE_STATE)
  const kinds: Readonly<Record<string, () => Promise<unknown>>> = {
    token: () => contestant.open(ASKED, "A".repeat(MEBIBYTE)),
    state: () => contestant.seal(ASKED, "a".repeat(MEBIBYTE)),
    "state of many values": () => contestant.seal(ASKED, many),
    "arguments of many values": args(many),
    "arguments of many objects": args(new Array(100_000).fill({ a: 1 })),
    "arguments of many members": args(members),
  }
  const figures: Figure[] = []
  for (const [kind, refuse] of Object.entries(kinds)) {
    const times: number[] = []
    for (let left = pairs; left > 0; left--) {
      const began = performance.now()
      const refused = await refuse().catch(() => undefined)
      times.push(performance.now() - began)
      equal(refused, undefined, `A mebibyte must be refused: ${kind}.`)
    }
    figures.push({ name: `seal.refusal:${kind}`, value: Math.max(...times), unit: "ms, the slowest" })
  }
  return figures
}
