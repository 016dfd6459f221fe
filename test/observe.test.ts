import { afterEach, expect, it, vi } from "vitest"
import type { OperationId } from "../src/brands.ts"
import { createObserver, type LogEvent } from "../src/observe.ts"

const MARK = { name: "sign", person: "0011223344556677", arguments: "8899aabbccddeeff" }
const operation = "AAAAAAAAAAAAAAAA" as OperationId

const events: [LogEvent, blobs: string[], doubles: number[]][] = [
  [{ event: "round", operation, round: 1, asks: ["a"], invalid: 0, ...MARK }, ["round", "sign", "begun", ""], [1, 0]],
  [
    { event: "round", operation, round: 2, asks: ["a"], invalid: 1, ...MARK },
    ["round", "sign", "asked again", ""],
    [2, 1],
  ],
  [
    { event: "outcome", operation, round: 2, status: "declined", phase: "ask", ...MARK },
    ["outcome", "sign", "declined", "ask"],
    [2, 0],
  ],
  [{ event: "state_refused", reason: "forged", ...MARK }, ["state_refused", "sign", "forged", ""], [0, 0]],
  [{ event: "redeem", operation, round: 1, outcome: "replayed" }, ["redeem", "", "replayed", ""], [1, 0]],
  [{ event: "misconfigured", problem: "SEAL_KEYS: …" }, ["misconfigured", "", "refused", ""], [0, 0]],
]

afterEach(() => {
  vi.restoreAllMocks()
})

it.each(events)("%j is one line and one data point", (event, blobs, doubles) => {
  const lines = vi.spyOn(console, "log").mockImplementation(() => {})
  const points: unknown[] = []
  createObserver({ writeDataPoint: (point) => points.push(point) })(event)
  expect(lines.mock.calls).toEqual([[JSON.stringify(event)]])
  expect(points).toEqual([{ indexes: [blobs[1]], blobs, doubles }])
})

it("needs no dataset", () => {
  const lines = vi.spyOn(console, "log").mockImplementation(() => {})
  createObserver(undefined)(events[0]?.[0] ?? { event: "misconfigured", problem: "" })
  expect(lines).toHaveBeenCalledTimes(1)
})
