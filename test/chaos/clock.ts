import { deepEqual, equal } from "node:assert/strict"
import { interfere } from "./client.ts"
import { askToTheEnd, historiesOf } from "./end.ts"
import { KEYED_KINDS, type Kind, SEALED_KINDS, type Told } from "./history.ts"
import type { Random } from "./random.ts"
import { ask, begin, type Subject } from "./subject.ts"
import type { World } from "./world.ts"

const MINUTE = 60_000
/** Every deadline is over, and the hour in which an exact repeat may look its outcome up is not. */
const AFTER_DEADLINES = 20 * MINUTE
const AFTER_RECORDS = 180 * MINUTE

/** A clock that goes far ahead, past the end of every sealed record, and then back: nothing spent may live again. */
export async function jumpClock(world: World, random: Random): Promise<void> {
  const beginAll = (kinds: readonly Kind[]) =>
    Promise.all(kinds.map((kind) => begin(world, random.branch(), kind, "acme", "steady")))
  const sealed = await beginAll(SEALED_KINDS)
  const keyed = await beginAll(KEYED_KINDS)
  await askToTheEnd([...sealed, ...keyed])
  const sealedOutcomes = await repeat(sealed)
  const keyedOutcomes = await repeat(keyed)
  const happened = await effects(world, [...sealed, ...keyed])
  const objects = await interfere(world, "/sweep")
  const jump = async (clockAhead: number) => {
    await world.crash(clockAhead)
    await interfere(world, "/sweep", objects)
    deepEqual(await repeat(keyed), keyedOutcomes, "What a key came to is told for its retention.")
  }

  await jump(AFTER_DEADLINES)
  deepEqual(
    await repeat(sealed),
    sealedOutcomes,
    "An outcome is told to an exact repeat for an hour after the deadline.",
  )

  await jump(AFTER_RECORDS)
  expectNothing(await repeat(sealed), "After that, it is over.")

  await jump(0)
  expectNothing(await repeat(sealed), "A clock that goes back does not bring a spent operation back.")
  deepEqual(await effects(world, [...sealed, ...keyed]), happened, "No effect happened again.")
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
