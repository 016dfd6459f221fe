// What operations cost on Cloudflare, as arithmetic over named inputs: public prices, what one operation uses, and figures
// of this project's own bench. It makes tables for the pages and knows nothing of how they are put there.
import type { Figure } from "../../bench/lib/figures.ts"
import { figureOf, table } from "./figures.ts"

/**
 * US dollars a million units beyond what the Workers Paid plan includes a month, as Cloudflare's pricing pages for
 * Workers, Durable Objects, Workers Logs and Analytics Engine had them in November 2026.
 */
const PRICES = {
  "Worker requests": { included: 10e6, aMillion: 0.3 },
  "Worker CPU, ms": { included: 30e6, aMillion: 0.02 },
  "object requests": { included: 1e6, aMillion: 0.15 },
  "object duration, GB-s": { included: 400e3, aMillion: 12.5 },
  "rows written": { included: 50e6, aMillion: 1 },
  "rows read": { included: 25e9, aMillion: 0.001 },
  "stored, GB-months": { included: 5, aMillion: 0.2e6 },
  "log events": { included: 20e6, aMillion: 0.6 },
  "data points": { included: 10e6, aMillion: 0.25 },
} as const

type Unit = keyof typeof PRICES
type Use = Readonly<Record<Unit, number>>

const UNITS = Object.keys(PRICES) as Unit[]
const SUBSCRIPTION = 5

const HOURS_A_MONTH = 730
/** An object is billed for 128 MB whatever it uses. */
const GIGABYTES_AN_OBJECT = 0.128
/** A claim reads the row that decides, and no more than one beside it. */
const ROWS_READ_A_CALL = 2
/** A busy object's alarm: it sets the next one and notes its time. */
const SWEEPS_AN_HOUR = 4
const ROWS_A_SWEEP = 2

const SCALES = [
  { operations: 1e6, objects: 16 },
  { operations: 100e6, objects: 160 },
  { operations: 10e9, objects: 1_600 },
] as const

type Scale = (typeof SCALES)[number]

/** What one operation of a kind uses. */
interface Kind {
  readonly title: string
  readonly requests: number
  readonly ledgerCalls: number
  /** A figure of the bench. */
  readonly rows: string
  /** Rows that its sweep deletes: `test/ledger/rows-written.test.ts` counts them. */
  readonly swept: number
  /** Lines of the log, and as many data points. */
  readonly lines: number
  readonly bytes: string
  /** From the first write until the sweep. */
  readonly keptHours: number
  /** A rate of the bench, and how many of what it counts an operation is: one thread did nothing else in that time. */
  readonly rate: readonly [figure: string, times: number]
}

const MCP: Kind = {
  title: "`/mcp`: asked once, answered, committed with a result",
  requests: 2,
  ledgerCalls: 2,
  rows: "ledger.rows:operation",
  swept: 2,
  lines: 2,
  bytes: "ledger.bytes:operations",
  keptHours: 1.5,
  rate: ["operation.flow.ratio", 1],
}

const REDEMPTION: Kind = {
  title: "`/v1`: sealed, redeemed",
  requests: 2,
  ledgerCalls: 1,
  rows: "ledger.rows:redemption",
  swept: 1,
  lines: 1,
  bytes: "ledger.bytes:redemptions",
  keptHours: 1.5,
  rate: ["ledger.shard.ratio:32", 1],
}

const KEYED: Kind = {
  title: "`/v1`: begun, completed with a result, kept for a day",
  requests: 2,
  ledgerCalls: 2,
  rows: "ledger.rows:keyed",
  swept: 2,
  lines: 2,
  bytes: "ledger.bytes:operations",
  keptHours: 24,
  rate: ["ledger.shard.ratio:32", 2],
}

/** Every line of the bill for operations at `/mcp`. */
export function billTable(figures: readonly Figure[]): string {
  const uses = SCALES.map((scale) => useOf(MCP, scale, figures))
  const lines = UNITS.map((unit) => [
    unit,
    perOperation(unit, figures),
    ...uses.map((use) => dollars(costOf(unit, use))),
  ])
  const totals = ["**in all, with the plan's $5**", "", ...uses.map((use) => `**${dollars(totalOf(use))}**`)]
  return table(["a month, in US dollars", "an operation", ...scaleTitles()], [...lines, totals])
}

/** What each kind of operation comes to. */
export function costsTable(figures: readonly Figure[]): string {
  const kinds = [MCP, REDEMPTION, KEYED]
  const rows = kinds.map((kind) => [
    kind.title,
    ...SCALES.map((scale) => dollars(totalOf(useOf(kind, scale, figures)))),
  ])
  return table(["a month, in US dollars", ...scaleTitles()], rows)
}

/** An object takes no more than this by the platform's own word, whatever was measured. */
const REQUESTS_AN_OBJECT = 1_000
/** Load is not spread evenly, and an object that is full turns callers away. */
const HEADROOM = 0.5

/** How many shards a rate needs, in one region and for one tenant. */
export function shardsTable(figures: readonly Figure[]): string {
  const callsAnObject = Math.min(REQUESTS_AN_OBJECT, figureOf("ledger.shard.ratio:32", figures).value) * HEADROOM
  const rates = [10, 100, 1_000, 10_000]
  const shards = (rate: number, calls: number) => String(Math.ceil((rate * calls) / callsAnObject))
  const rows = [MCP, REDEMPTION].map(({ title, ledgerCalls }) => [
    title,
    ...rates.map((rate) => shards(rate, ledgerCalls)),
  ])
  return table(["shards for so many a second", ...rates.map((rate) => rate.toLocaleString("en-US"))], rows)
}

function useOf(kind: Kind, scale: Scale, figures: readonly Figure[]): Use {
  const one = useOfOne(kind, figures)
  const sweeps = scale.objects * SWEEPS_AN_HOUR * HOURS_A_MONTH
  const all = Object.fromEntries(UNITS.map((unit) => [unit, one[unit] * scale.operations])) as Use
  return {
    ...all,
    "object requests": all["object requests"] + sweeps,
    "rows written": all["rows written"] + sweeps * ROWS_A_SWEEP,
  }
}

function useOfOne(kind: Kind, figures: readonly Figure[]): Use {
  const { requests, ledgerCalls, rows, swept, lines, bytes, keptHours, rate } = kind
  const [counted, times] = rate
  const msACall = figureOf("ledger.claim.growth", figures).value
  return {
    "Worker requests": requests,
    "Worker CPU, ms": (1_000 * times) / figureOf(counted, figures).value,
    "object requests": ledgerCalls,
    "object duration, GB-s": (ledgerCalls * msACall * GIGABYTES_AN_OBJECT) / 1_000,
    "rows written": figureOf(rows, figures).value + swept,
    "rows read": ledgerCalls * ROWS_READ_A_CALL,
    "stored, GB-months": (figureOf(bytes, figures).value * keptHours) / HOURS_A_MONTH / 1e9,
    "log events": requests + ledgerCalls + lines,
    "data points": lines,
  }
}

function perOperation(unit: Unit, figures: readonly Figure[]): string {
  const used = useOfOne(MCP, figures)[unit]
  return used < 1e-6 ? "next to nothing" : used.toLocaleString("en-US", { maximumSignificantDigits: 2 })
}

function costOf(unit: Unit, use: Use): number {
  const { included, aMillion } = PRICES[unit]
  return (Math.max(0, use[unit] - included) / 1e6) * aMillion
}

function totalOf(use: Use): number {
  return UNITS.reduce((sum, unit) => sum + costOf(unit, use), SUBSCRIPTION)
}

function scaleTitles(): string[] {
  return SCALES.map(({ operations }) => operations.toLocaleString("en-US", { notation: "compact" }))
}

/** To cents, or to two digits: the prices are exact, and how they are used is not. */
function dollars(amount: number): string {
  const rounding = amount < 10 ? { maximumFractionDigits: 2 } : { maximumSignificantDigits: 2 }
  return amount.toLocaleString("en-US", rounding)
}
