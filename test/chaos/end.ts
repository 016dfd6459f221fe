import { setTimeout as sleep } from "node:timers/promises"
import canonicalize from "canonicalize"
import { z } from "zod"
import { speak } from "./client.ts"
import type { History, Told } from "./history.ts"
import { ask, type Subject, TENANTS } from "./subject.ts"
import { isRest } from "./verdict.ts"
import type { World } from "./world.ts"

const AT_ONCE = 16
/** Many times the longest lease: whoever runs an operation may vanish, and give it back, several times even then. */
const REST_SECONDS = 120

/** In rounds, so that whoever waits for a lease to end does not hold up the others; and once more, to hear it again. */
export async function askToTheEnd(subjects: readonly Subject[], restSeconds = REST_SECONDS): Promise<void> {
  let restless = await askEach(subjects)
  const end = performance.now() + restSeconds * 1_000
  while (restless.length > 0 && performance.now() < end) {
    await sleep(500)
    restless = await askEach(restless)
  }
  await askEach(subjects)
}

/** Sends every input of every subject, and gives the subjects that may still have something else to say. */
async function askEach(subjects: readonly Subject[]): Promise<Subject[]> {
  const restless: Subject[] = []
  const queue = subjects.values()
  const work = async () => {
    for (const subject of queue) {
      const told: Told[] = []
      for (const input of subject.inputs) told.push(await ask(subject, input))
      if (!told.every(isRest)) restless.push(subject)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return restless
}

/** Puts what was made beside what was told. */
export async function historiesOf(world: World, subjects: readonly Subject[]): Promise<History[]> {
  const counted = (await world.counted()).map(({ label, receipt }) => ({ name: label, effect: receipt }))
  const created = await Promise.all(TENANTS.map((tenant) => databasesOf(world, tenant)))
  const made = Map.groupBy([...counted, ...created.flat()], ({ name }) => name)
  return subjects.map(({ kind, name, seen, claims }) => {
    return { kind, name, seen, claims, effects: (made.get(name) ?? []).map(({ effect }) => effect) }
  })
}

const Databases = z.array(z.looseObject({ name: z.string() }))

async function databasesOf(world: World, tenant: string): Promise<{ name: string; effect: string }[]> {
  const list = { token: await world.token(tenant), name: "list_created", arguments: {} }
  const spoken = await speak(world, list)
  if (!("result" in spoken) || spoken.result.resultType !== "complete")
    throw new Error("What was created is not listed.")
  const databases = Databases.parse(spoken.result.structuredContent["databases"])
  return databases.map((database) => ({ name: database.name, effect: canonicalize(database) ?? "" }))
}
