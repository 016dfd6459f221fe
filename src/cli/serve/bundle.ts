import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { z } from "zod"

const Manifest = z.object({
  /** An ES module with everything inside. */
  script: z.string(),
  compatibilityDate: z.string(),
  compatibilityFlags: z.array(z.string()),
  /** Durable Object classes by the name of their binding. */
  objects: z.record(z.string(), z.string()),
  /** By the name of their binding: so many calls of one key in so many seconds. */
  rateLimits: z.record(z.string(), z.object({ limit: z.int().positive(), period: z.int().positive() })),
})

/** A Worker as `wrangler deploy` would upload it, and what its wrangler configuration binds to it. */
export interface Bundle extends Readonly<z.infer<typeof Manifest>> {
  /** The folder that holds `script`. */
  readonly folder: string
}

/** The bundle in a folder; undefined where there is none. */
export function readBundle(folder: string): Bundle | undefined {
  const file = manifestIn(folder)
  return existsSync(file) ? { ...Manifest.parse(JSON.parse(readFileSync(file, "utf8"))), folder } : undefined
}

/** Makes a folder with a script into a bundle. */
export function writeManifest({ folder, ...manifest }: Bundle): void {
  writeFileSync(manifestIn(folder), `${JSON.stringify(manifest, null, 2)}\n`)
}

function manifestIn(folder: string): string {
  return join(folder, "manifest.json")
}
