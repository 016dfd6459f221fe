// `npm run chaos`: the ledger under load in a real workerd that is killed again and again. At the end every operation's
// whole history is judged. The seed repeats the choices that were made, not the moments at which the machine made them.
import { parseArgs } from "node:util"
import { type Bundle, buildBundle } from "../support/bundle.ts"
import { jumpClock } from "./clock.ts"
import { fillDisk } from "./full-disk.ts"
import { type Random, seeded } from "./random.ts"
import { report } from "./report.ts"
import { storm } from "./storm.ts"
import { createWorld, FIXTURE, LONGEST_STORM_SECONDS, type World } from "./world.ts"

const HIGHEST_SEED = 2 ** 32

const { values } = parseArgs({ options: { seconds: { type: "string", default: "300" }, seed: { type: "string" } } })
const seconds = whole("seconds", values.seconds, LONGEST_STORM_SECONDS)
const seed = whole("seed", values.seed ?? String(1 + Math.floor(Math.random() * HIGHEST_SEED)), HIGHEST_SEED)
const tally = { passed: 0, failed: 0 }

console.log(`Seed ${seed}.`)
const bundle = await buildBundle(FIXTURE)
const random = seeded(seed)
await inWorld(bundle, (world) => raiseStorm(world, random.branch()))
await inWorld(bundle, (world) => turnClock(world, random.branch()))
await fill(bundle, random.branch())
console.log(`Seed ${seed}: ${tally.passed} passed, ${tally.failed} failed`)
process.exitCode = tally.failed === 0 ? 0 : 1

async function raiseStorm(world: World, choices: Random): Promise<void> {
  console.log(`\n${seconds} seconds of load and crashes, and then a quiet time.`)
  const { histories, kills, interruptions } = await storm(world, choices, seconds)
  console.log(`${kills} kills, ${interruptions} crashes and sweeps in a living process.`)
  count(report(histories))
}

async function turnClock(world: World, choices: Random): Promise<void> {
  console.log("\nThe clock goes far ahead, and back.")
  try {
    await jumpClock(world, choices)
    count({ passed: 1, failed: 0 })
  } catch (error) {
    console.log(`WRONG ${String(error)}`)
    count({ passed: 0, failed: 1 })
  }
}

async function fill(bundle: Bundle, choices: Random): Promise<void> {
  console.log("\nThe disk is full for a while.")
  const histories = await fillDisk(bundle, choices)
  if (histories) count(report(histories))
  else console.log("No file system may be mounted here, so this was not tried.")
}

async function inWorld(bundle: Bundle, act: (world: World) => Promise<void>): Promise<void> {
  const world = await createWorld(bundle)
  try {
    await act(world)
  } finally {
    await world.end()
  }
}

function count({ passed, failed }: { readonly passed: number; readonly failed: number }): void {
  tally.passed += passed
  tally.failed += failed
}

function whole(name: string, text: string, most: number): number {
  const number = Number(text)
  if (Number.isInteger(number) && number > 0 && number <= most) return number
  console.error(`--${name} must be a whole number from 1 to ${most}.`)
  process.exit(1)
}
