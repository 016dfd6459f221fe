// The queries of docs/observability.md, on data points as this service writes them. SQLite stands in for Analytics Engine:
// it knows no intervals of time, so those are taken out.
import { runInDurableObject } from "cloudflare:test"
import { expect, it, vi } from "vitest"
import page from "../docs/observability.md?raw"
import type { OperationId } from "../src/brands.ts"
import { createObserver, type LogEvent } from "../src/observe.ts"
import { freshObject } from "./ledger/support.ts"
import { codeBlocks } from "./support/code-blocks.ts"

const MARK = { name: "sign", person: "0011223344556677", arguments: "8899aabbccddeeff" }
const operation = "AAAAAAAAAAAAAAAA" as OperationId
const outcome = { event: "outcome", operation, round: 1, ...MARK } as const

const EVENTS: readonly LogEvent[] = [
  { event: "round", operation, round: 1, asks: ["a"], invalid: 0, ...MARK },
  { event: "round", operation, round: 2, asks: ["a"], invalid: 1, ...MARK },
  { ...outcome, status: "completed", phase: "effect" },
  { ...outcome, status: "completed", phase: "record" },
  { ...outcome, status: "failed", phase: "recheck" },
  { ...outcome, status: "outcome_unknown", phase: "effect" },
  { ...outcome, status: "rounds_exceeded", phase: "ask" },
  { event: "state_refused", reason: "forged", ...MARK },
  { event: "state_refused", reason: "unknown_key", ...MARK },
  { event: "state_refused", reason: "expired", ...MARK },
  { event: "fault", error: "LedgerUnavailable", ...MARK },
  { event: "fault", error: "LedgerOverloaded", name: "begin" },
  { event: "keyed_operation", name: "begin", outcome: "unknown" },
  { event: "keyed_operation", name: "begin", outcome: "claimed" },
  { event: "rate_limited", name: "seal" },
]

/** What a query finds among the data points of all events. */
function rows(query: string): Promise<unknown[]> {
  return runInDurableObject(freshObject(), (_, { storage: { sql } }) => {
    sql.exec("CREATE TABLE waxseal (timestamp, _sample_interval, index1, blob1, blob2, blob3, blob4, double1, double2)")
    vi.spyOn(console, "log").mockImplementation(() => {})
    const observe = createObserver({
      writeDataPoint: ({ indexes = [], blobs = [], doubles = [] } = {}) =>
        void sql.exec(
          "INSERT INTO waxseal VALUES (1, 1, ?, ?, ?, ?, ?, ?, ?)",
          ...[...indexes, ...blobs].map(String),
          ...doubles,
        ),
    })
    for (const event of EVENTS) observe(event)
    vi.restoreAllMocks()
    return sql.exec(query.replace(/timestamp > NOW\(\) - INTERVAL '\d+' [A-Z]+/g, "timestamp > 0")).toArray()
  })
}

const CONDITIONS = [...page.matchAll(/^\|.*`(blob1 = [^`]+)`/gm)].map(([, condition = ""]) => condition)

it("there are alerts", () => {
  expect(CONDITIONS.length).toBeGreaterThan(6)
})

it.each(CONDITIONS)("picks what it is for: %s", async (condition) => {
  expect(await rows(`SELECT * FROM waxseal WHERE ${condition}`)).toHaveLength(1)
})

it("the counters count", async () => {
  const queries = codeBlocks(page).flatMap(({ language, code }) => (language === "sql" ? code.split("\n\n") : []))
  const [everything, repeats, rechecks] = await Promise.all(queries.map(rows))
  expect(everything).toContainEqual({ name: "sign", event: "outcome", decision: "completed", times: 2 })
  expect(repeats).toEqual([{ name: "sign", repeats: 1 }])
  expect(rechecks).toEqual([{ name: "sign", decision: "failed", times: 1 }])
})
