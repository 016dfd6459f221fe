import { spawnSync } from "node:child_process"
import { mkdtemp, rm, statfs, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Bundle } from "../support/bundle.ts"
import { askToTheEnd, historiesOf } from "./end.ts"
import { type History, KINDS } from "./history.ts"
import type { Random } from "./random.ts"
import { ask, begin, type Subject, TENANTS } from "./subject.ts"
import { createWorld, type World } from "./world.ts"

/** Enough for the objects, and filled in a moment. */
const DISK = "size=8m"
const VISITS = 24

/**
 * A disk that is full in the middle of everything, and then is not any more.
 *
 * @returns `undefined` where no file system may be mounted
 */
export async function fillDisk(bundle: Bundle, random: Random): Promise<History[] | undefined> {
  const disk = await mkdtemp(join(tmpdir(), "waxseal-disk-"))
  try {
    if (spawnSync("mount", ["-t", "tmpfs", "-o", DISK, "tmpfs", disk]).status !== 0) return undefined
    try {
      return await onDisk(await createWorld(bundle, join(disk, "data")), disk, random)
    } finally {
      spawnSync("umount", [disk])
    }
  } finally {
    await rm(disk, { recursive: true, force: true })
  }
}

async function onDisk(world: World, disk: string, random: Random): Promise<History[]> {
  const ballast = join(disk, "ballast")
  try {
    const before = await visit(world, random)
    const { bavail, bsize } = await statfs(disk)
    await writeFile(ballast, new Uint8Array(bavail * bsize))
    const during = await visit(world, random)
    await rm(ballast)
    await world.crash()
    await askToTheEnd([...before, ...during])
    return await historiesOf(world, [...before, ...during])
  } finally {
    await world.end()
  }
}

async function visit(world: World, random: Random): Promise<Subject[]> {
  return Promise.all(
    Array.from({ length: VISITS }, async () => {
      const subject = await begin(world, random.branch(), random.oneOf(KINDS), random.oneOf(TENANTS))
      await Promise.all(subject.inputs.map((input) => ask(subject, input)))
      return subject
    }),
  )
}
