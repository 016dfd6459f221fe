import { expect, test } from "vitest"
import type { History, Told } from "./history.ts"
import { judge } from "./verdict.ts"

const LEFT = { answers: "left", state: "1" }
const RIGHT = { answers: "right", state: "1" }
const completed = (result = "with receipt"): Told => ({ says: "outcome", outcome: "completed", result })
const usedBy = (recorded: string): Told => ({ says: "already_used", recorded })
const MISMATCH: Told = { says: "mismatch" }
const LOST: Told = { says: "nothing", why: "lost" }

/** Told one after the other. */
function history(seen: readonly [input: typeof LEFT, told: Told][], changes: Partial<History> = {}): History {
  const times = seen.map(([input, told], index) => ({ input, told, sent: index * 10, heard: index * 10 + 5 }))
  return { kind: "report", name: "one", seen: times, claims: [], effects: ["receipt"], ...changes }
}

test.for<[string, History]>([
  [
    "completed, lost on the way, told again",
    history([
      [LEFT, LOST],
      [LEFT, completed()],
      [RIGHT, usedBy("completed")],
    ]),
  ],
  [
    "unknown, and it may have happened",
    history([
      [LEFT, { says: "in_progress" }],
      [LEFT, { says: "outcome_unknown" }],
    ]),
  ],
  [
    "unknown, and then recorded late",
    history([
      [LEFT, { says: "outcome_unknown" }],
      [LEFT, completed()],
    ]),
  ],
  [
    "given back, and then completed",
    history([
      [LEFT, { says: "given_back" }],
      [LEFT, completed()],
    ]),
  ],
  ["declined", history([[RIGHT, { says: "outcome", outcome: "declined", result: "" }]], { effects: [] })],
  [
    "a key that belongs to other input, and whose second attempt completed",
    history(
      [
        [RIGHT, MISMATCH],
        [LEFT, { says: "given_back" }],
        [LEFT, completed()],
        [RIGHT, MISMATCH],
      ],
      {
        kind: "keyed report",
        claims: [
          { attempt: 1, claim: "a" },
          { attempt: 1, claim: "a" },
          { attempt: 2, claim: "b" },
        ],
      },
    ),
  ],
])("nothing is wrong with: %s", ([, good]) => {
  expect(judge(good)).toEqual([])
})

test.for<[string, History]>([
  [
    "several outcomes",
    history([
      [LEFT, completed()],
      [RIGHT, usedBy("declined")],
    ]),
  ],
  [
    "different results",
    history([
      [LEFT, completed()],
      [LEFT, completed("another receipt")],
    ]),
  ],
  [
    "several answers",
    history([
      [LEFT, completed()],
      [RIGHT, completed()],
    ]),
  ],
  [
    "and then in_progress",
    history([
      [LEFT, completed()],
      [LEFT, { says: "in_progress" }],
      [LEFT, completed()],
    ]),
  ],
  [
    "and then given_back",
    history([
      [LEFT, completed()],
      [LEFT, { says: "given_back" }],
      [LEFT, completed()],
    ]),
  ],
  [
    "and then refused",
    history([
      [LEFT, completed()],
      [LEFT, { says: "refused" }],
    ]),
  ],
  ["happened 2 times", history([[LEFT, completed()]], { effects: ["receipt", "again"] })],
  ["never happened", history([[LEFT, completed()]], { effects: [] })],
  ["is not what happened", history([[LEFT, completed("made up")]])],
  ["ended otherwise", history([[LEFT, { says: "outcome", outcome: "declined", result: "" }]])],
  ["ends with in_progress", history([[LEFT, { says: "in_progress" }]])],
  [
    "ends with nothing",
    history([
      [LEFT, completed()],
      [RIGHT, LOST],
    ]),
  ],
  ["may run again", history([[LEFT, { says: "outcome_unknown" }]], { kind: "rerun" })],
  ["without an outcome", history([[LEFT, usedBy("completed")]], { effects: [] })],
  [
    "for input that it told a mismatch",
    history([
      [LEFT, MISMATCH],
      [LEFT, completed()],
    ]),
  ],
  [
    "then mismatch for the same input",
    history([
      [LEFT, completed()],
      [LEFT, MISMATCH],
    ]),
  ],
  ["without an outcome for anybody", history([[LEFT, MISMATCH]], { effects: [] })],
  [
    "gave attempt 2 2 times",
    history([[LEFT, completed()]], {
      claims: [
        { attempt: 2, claim: "a" },
        { attempt: 2, claim: "b" },
      ],
    }),
  ],
  ["nobody is told", history([[LEFT, { says: "given_back" }]])],
])("a fault is found: %s", ([fault, bad]) => {
  expect(judge(bad).join("\n")).toContain(fault)
})
