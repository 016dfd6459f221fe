import { setTimeout as sleep } from "node:timers/promises"
import { interfere } from "./client.ts"
import { askToTheEnd, historiesOf } from "./end.ts"
import { type History, KINDS } from "./history.ts"
import type { Random } from "./random.ts"
import { ask, begin, type Subject, TENANTS } from "./subject.ts"
import type { World } from "./world.ts"

export interface Storm {
  readonly histories: readonly History[]
  readonly kills: number
  /** Crashes of all objects in a living process, and sweeps out of turn. */
  readonly interruptions: number
}

const VISITORS = 16
/** The clock of the machine, corrected at a restart: forth and back, within what leases and deadlines stand. */
const CLOCK_JUMP_MS = 3_000

/** Load and crashes for so many seconds; then a quiet time in which everybody asks until there is nothing more to hear. */
export async function storm(world: World, random: Random, seconds: number, restSeconds?: number): Promise<Storm> {
  const end = performance.now() + seconds * 1_000
  const subjects: Subject[] = []
  const visitors = Array.from({ length: VISITORS }, () => visit(world, random.branch(), end, subjects))
  const [trouble] = await Promise.all([makeTrouble(world, random.branch(), end), ...visitors])
  await askToTheEnd(subjects, restSeconds)
  return { ...trouble, histories: await historiesOf(world, subjects) }
}

/** Begins operations, sends each several answers at once, and asks again for those that anybody began before. */
async function visit(world: World, random: Random, end: number, subjects: Subject[]): Promise<void> {
  while (performance.now() < end) {
    const old = random.chance(0.3) ? subjects[random.whole(subjects.length)] : undefined
    const subject = old ?? (await begin(world, random, random.oneOf(KINDS), random.oneOf(TENANTS)))
    if (!old) subjects.push(subject)
    await Promise.all(Array.from({ length: 1 + random.whole(4) }, () => shoot(subject, random.branch())))
  }
}

/** One client in four goes away before it is answered. */
async function shoot(subject: Subject, random: Random): Promise<void> {
  await sleep(random.number(20))
  await ask(subject, random.oneOf(subject.inputs), random.chance(0.25) ? random.whole(60) : undefined)
}

async function makeTrouble(world: World, random: Random, end: number): Promise<Omit<Storm, "histories">> {
  let kills = 0
  let interruptions = 0
  while (performance.now() < end) {
    await sleep(50 + random.number(900))
    if (random.chance(0.7)) {
      await world.crash(random.whole(CLOCK_JUMP_MS))
      kills += 1
    } else {
      await interfere(world, random.oneOf(["/crash", "/sweep"]))
      interruptions += 1
    }
  }
  return { kills, interruptions }
}
