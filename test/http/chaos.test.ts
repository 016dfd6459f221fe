import { describe, expect, it } from "vitest"
import { jumpClock } from "../chaos/clock.ts"
import { fillDisk } from "../chaos/full-disk.ts"
import { seeded } from "../chaos/random.ts"
import { storm } from "../chaos/storm.ts"
import { judge } from "../chaos/verdict.ts"
import { createWorld, FIXTURE, type World } from "../chaos/world.ts"
import { type Bundle, buildBundle } from "../support/bundle.ts"
import { type Bug, bundleWith } from "../support/planted.ts"

const SEED = Number(process.env["CHAOS_SEED"] ?? Math.floor(Math.random() * 1e9))

type Trouble = (bundle: Bundle) => Promise<string[]>

async function inWorld<T>(bundle: Bundle, act: (world: World) => Promise<T>): Promise<T> {
  const world = await createWorld(bundle)
  try {
    return await act(world)
  } finally {
    await world.end()
  }
}

/** Every trouble gives the faults that it found. */
function stormOf(seconds: number, restSeconds?: number): Trouble {
  return (bundle) =>
    inWorld(bundle, async (world) => {
      const { histories } = await storm(world, seeded(SEED), seconds, restSeconds)
      return histories.flatMap(judge)
    })
}

/** For planted bugs, which show sooner than operations come to rest. */
const squall = stormOf(6, 4)

const clockTurned: Trouble = (bundle) =>
  inWorld(bundle, (world) =>
    jumpClock(world, seeded(SEED)).then(
      () => [],
      (error: unknown) => [String(error)],
    ),
  )

const bugs: readonly [what: string, bug: Bug, trouble: Trouble, fault: RegExp][] = [
  [
    "claimed-in-two-steps",
    {
      file: "src/ledger/sealed.ts",
      find: "? LATE : this.#lease(now, key, attempt, ",
      replace: "? LATE : ((...lease) => scheduler.wait(5).then(() => this.#lease(...lease)))(now, key, attempt, ",
    },
    squall,
    // Two owners act both, or one overwrites what the other had settled: the storm decides which comes first.
    /happened \d times|was \w+ and then/,
  ],
  [
    "answered-from-memory",
    {
      file: "src/ledger/sealed.ts",
      find: "    this.#rows = rows\n",
      replace: `
    const written = new Map()
    const name = ({ deadline, id }) => deadline + " " + id
    this.#rows = {
      read: (key) => written.get(name(key))?.row ?? rows.read(key),
      body: (key) => written.get(name(key))?.body ?? rows.body(key),
      write: (key, row, body) => {
        written.set(name(key), { row, body })
        setTimeout(() => rows.write(key, row, body), 500)
      },
    }
`,
    },
    squall,
    /happened \d times|and then/,
  ],
  [
    "kept-until-the-token-expires",
    {
      file: "src/operation/spending.ts",
      find: "deadline: contents.deadline,",
      replace: "deadline: contents.expiresAt,",
    },
    squall,
    /several|happened \d times/,
  ],
  [
    "begun-in-two-steps",
    {
      file: "src/ledger/keyed.ts",
      find: "      this.#rows.insert(id, row)\n      return claimed(row)\n",
      replace: "      return scheduler.wait(5).then(() => (this.#rows.insert(id, row), claimed(row)))\n",
    },
    squall,
    /gave attempt 1 \d times/,
  ],
  [
    "swept-at-the-deadline",
    { file: "src/ledger/object.ts", find: "sweep(now - AFTERLIFE_MS)", replace: "sweep(now)" },
    clockTurned,
    /for an hour after the deadline/,
  ],
  [
    "clock-runs-back",
    { file: "src/ledger/object.ts", find: "Math.max(Date.now(), this.#sweptAt)", replace: "Date.now()" },
    clockTurned,
    /does not bring a spent operation back/,
  ],
]

describe(`chaos with seed ${SEED}`, () => {
  it("a storm of crashes leaves no fault in any history", { timeout: 180_000 }, async () => {
    expect(await stormOf(25)(await buildBundle(FIXTURE))).toEqual([])
  })

  it("a clock that goes far ahead and back brings nothing back", { timeout: 120_000 }, async () => {
    expect(await clockTurned(await buildBundle(FIXTURE))).toEqual([])
  })

  it("a full disk leaves no fault in any history", { timeout: 120_000 }, async ({ skip }) => {
    const histories = await fillDisk(await buildBundle(FIXTURE), seeded(SEED))
    if (histories) expect(histories.flatMap(judge)).toEqual([])
    else skip("No file system may be mounted here.")
  })

  it.each(bugs)("a planted bug is noticed: %s", { timeout: 180_000 }, async (what, bug, trouble, fault) => {
    const faults = await trouble(await bundleWith(`chaos-${what}`, bug, FIXTURE))
    expect(faults.join("\n")).toMatch(fault)
  })
})
