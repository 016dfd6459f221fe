import { deepEqual, equal } from "node:assert/strict"
import { interfere } from "./client.ts"
import { askToTheEnd, historiesOf } from "./end.ts"
import { KINDS, type Told } from "./history.ts"
import type { Random } from "./random.ts"
import { ask, begin, type Subject } from "./subject.ts"
import type { World } from "./world.ts"

const MINUTE = 60_000
/** Every deadline is over, and the hour in which an exact repeat may look its outcome up is not. */
const AFTER_DEADLINES = 20 * MINUTE
const AFTER_RECORDS = 180 * MINUTE

/** A clock that goes far ahead, past the end of every record, and then back: nothing that was spent may live again. */
export async function jumpClock(world: World, random: Random): Promise<void> {
  const subjects = await Promise.all(KINDS.map((kind) => begin(world, random.branch(), kind, "acme", "steady")))
  await askToTheEnd(subjects)
  const outcomes = await repeat(subjects)
  const happened = await effects(world, subjects)
  const objects = await interfere(world, "/sweep")

  await world.crash(AFTER_DEADLINES)
  await interfere(world, "/sweep", objects)
  deepEqual(await repeat(subjects), outcomes, "An outcome is told to an exact repeat for an hour after the deadline.")

  await world.crash(AFTER_RECORDS)
  await interfere(world, "/sweep", objects)
  expectNothing(await repeat(subjects), "After that, it is over.")

  await world.crash(0)
  expectNothing(await repeat(subjects), "A clock that goes back does not bring a spent operation back.")
  deepEqual(await effects(world, subjects), happened, "No effect happened again.")
}

async function repeat(subjects: readonly Subject[]): Promise<Told[]> {
  return Promise.all(subjects.map((subject) => ask(subject, subject.inputs[0])))
}

async function effects(world: World, subjects: readonly Subject[]): Promise<unknown> {
  return (await historiesOf(world, subjects)).map((history) => history.effects)
}

function expectNothing(told: readonly Told[], message: string): void {
  for (const { says } of told) equal(says === "refused" || says === "nothing", true, `${message} It says ${says}.`)
}
