import { setTimeout as sleep } from "node:timers/promises"
import { z } from "zod"
import { buildBundle, type Recipe } from "../test/support/bundle.ts"
import type { Running } from "../test/support/workerd.ts"
import { type Bed, onBed } from "./lib/bed.ts"
import type { Figure } from "./lib/figures.ts"
import { compare, measureInPairs } from "./lib/pairs.ts"
import type { Job } from "./load/job.ts"
import type { Effort } from "./mcp.ts"

const FIXTURE: Recipe = { config: "test/fixtures/ledger/wrangler.toml", sources: ["src", "test/fixtures/ledger"] }

const RECORDS = 100_000
const MANY_RECORDS = 1_000_000
const RESULT_BYTES = 100
/** Filled in one turn of the object, so that no turn takes longer than a second or two. */
const FILLED_AT_ONCE = 20_000
const CLIENTS = [1, 32, 64] as const

type Scenario = Job["scenario"]

/** The ledger's object, whole requests through the product's client. */
export async function ledger(effort: Effort): Promise<Figure[]> {
  return onBed(async (bed) => {
    const start = async () => bed.start(await buildBundle(FIXTURE))
    const [ours, peer] = [await start(), await start()]
    const figures: Figure[] = []
    for (const clients of CLIENTS) figures.push(await shardRatio(bed, ours, peer, clients, effort))
    figures.push(await shardsRatio(bed, ours, effort))
    figures.push(await bytes(ours, "redemptions", 0), await bytes(ours, "operations", RESULT_BYTES))
    figures.push(...(await rows(ours)))
    figures.push(await claimGrowth(bed, ours, effort))
    return [...figures, ...(await sweep(await start()))]
  })
}

/** One shard against a bare object that does one INSERT a request, in a process of its own. */
async function shardRatio(bed: Bed, ours: Running, peer: Running, clients: number, effort: Effort): Promise<Figure> {
  const spend = load(bed, ours, "spend", clients, effort)
  const insert = load(bed, peer, "insert", clients, effort)
  await measureInPairs(1, spend, insert)
  const pairs = await measureInPairs(effort.pairs, spend, insert)
  return compare(`ledger.shard.ratio:${clients}`, "requests/s", "one INSERT a request", pairs)
}

/** Sixteen shards in one process against one. */
async function shardsRatio(bed: Bed, worker: Running, effort: Effort): Promise<Figure> {
  const spread = load(bed, worker, "spend-spread", 64, effort)
  const one = load(bed, worker, "spend", 64, effort)
  await measureInPairs(1, spread, one)
  return compare("ledger.shards.ratio", "requests/s", "one shard", await measureInPairs(effort.pairs, spread, one))
}

/** On disk, a record that lives, in an object that holds many. */
async function bytes(worker: Running, filling: "redemptions" | "operations", result: number): Promise<Figure> {
  const size = await fill(worker, filling, filling, RECORDS)
  return { name: `ledger.bytes:${filling}`, value: size / RECORDS - result, unit: "bytes a record" }
}

/** What the platform bills: one row of each table and index that changes. */
async function rows(worker: Running): Promise<Figure[]> {
  const written = z.record(z.string(), z.number()).parse(JSON.parse(await post(worker, "/rows/rows")))
  return Object.entries(written).map(([what, value]) => ({ name: `ledger.rows:${what}`, value, unit: "rows written" }))
}

/** How much longer a claim takes where there are many records; of speeds, the inverse. */
async function claimGrowth(bed: Bed, worker: Running, effort: Effort): Promise<Figure> {
  await fill(worker, "few", "redemptions", 10)
  await fill(worker, "many", "redemptions", MANY_RECORDS)
  const few = milliseconds(load(bed, worker, "claim-few", 1, effort))
  const many = milliseconds(load(bed, worker, "claim-many", 1, effort))
  await measureInPairs(1, many, few)
  const pairs = await measureInPairs(effort.pairs, many, few)
  return compare("ledger.claim.growth", "ms a claim", "among 10 records", pairs)
}

/** Sweeps as many records as there ever may be; claims that write nothing go on meanwhile and wait their turn. */
async function sweep(worker: Running): Promise<Figure[]> {
  const full = await fill(worker, "swept", "expired", MANY_RECORDS)
  const began = performance.now()
  await post(worker, "/sweep/swept")
  let waited = 0
  let size = full
  for (let asked = began; size > 8_192 && asked - began < 60_000; asked = performance.now()) {
    await post(worker, "/late/swept")
    waited = Math.max(waited, performance.now() - asked)
    size = z.number().parse(JSON.parse(await post(worker, "/size/swept")))
    await sleep(1)
  }
  const seconds = (performance.now() - began) / 1_000
  return [
    { name: "ledger.swept.bytes", value: size, unit: "bytes" },
    { name: "ledger.swept.seconds", value: seconds, unit: "s" },
    { name: "ledger.swept.wait", value: waited, unit: "ms, the longest" },
  ]
}

function load(bed: Bed, { url }: Running, scenario: Scenario, connections: number, { seconds }: Effort) {
  return () => bed.load.run({ scenario, url, token: "", connections, seconds })
}

function milliseconds(speed: () => Promise<number>) {
  return async () => 1_000 / (await speed())
}

/** @returns the bytes that the object then takes */
async function fill(worker: Running, object: string, filling: string, count: number): Promise<number> {
  let size = 0
  for (let left = count; left > 0; left -= FILLED_AT_ONCE) {
    const answer = await post(worker, `/${filling}/${object}?count=${Math.min(left, FILLED_AT_ONCE)}`)
    size = z.number().parse(JSON.parse(answer))
  }
  return size
}

async function post({ url }: Running, path: string): Promise<string> {
  const response = await fetch(`${url}${path}`, { method: "POST" })
  if (!response.ok) throw new Error(`${path} answered HTTP ${response.status}.`)
  return response.text()
}
