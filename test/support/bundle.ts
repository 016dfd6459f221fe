import { createHash, type Hash } from "node:crypto"
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { bundleWorker } from "../../scripts/worker-bundle.ts"
import { type Bundle, readBundle } from "../../src/cli/serve/index.ts"

export type { Bundle }

/** The root of the project; paths below are relative to it. */
export const ROOT = join(import.meta.dirname, "../..")

const BUNDLES = join(ROOT, "dist/bundles")
/** What a bundle is made of: a wrangler configuration and the folders whose files it may import. */
export interface Recipe {
  readonly config: string
  readonly sources: readonly string[]
}

/** What is deployed. */
export const PRODUCTION: Recipe = { config: "wrangler.toml", sources: ["src"] }

/**
 * Bundles a Worker as `npm run build` does the product's. A bundle is kept in
 * `dist/bundles` under the hash of its sources, so only the first call after a change takes the seconds that it takes.
 *
 * @throws with wrangler's own words when it does not bundle
 */
export async function buildBundle(recipe: Recipe = PRODUCTION): Promise<Bundle> {
  const folder = join(BUNDLES, await hashOf(recipe))
  const kept = readBundle(folder)
  if (kept) return kept
  await build(recipe, folder)
  const made = readBundle(folder)
  if (!made) throw new Error(`${recipe.config} was bundled, but ${folder} holds no manifest.`)
  return made
}

/** Builds aside and moves into place at once: test files that run at the same time may want the same bundle. */
async function build(recipe: Recipe, folder: string): Promise<void> {
  await mkdir(BUNDLES, { recursive: true })
  const aside = await mkdtemp(join(BUNDLES, "building-"))
  try {
    await bundleWorker(recipe.config, aside)
    await rename(aside, folder).catch(ignoreThatAnotherWasFirst)
  } finally {
    await rm(aside, { recursive: true, force: true })
  }
}

function ignoreThatAnotherWasFirst(error: unknown): void {
  const code = error instanceof Error && "code" in error ? error.code : undefined
  if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error
}

async function hashOf(recipe: Recipe): Promise<string> {
  const hash = createHash("sha256")
  for (const file of ["package-lock.json", recipe.config]) await addFile(hash, file)
  for (const source of recipe.sources) {
    const entries = await readdir(join(ROOT, source), { recursive: true, withFileTypes: true })
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
    for (const file of files.sort()) await addFile(hash, file.slice(ROOT.length + 1))
  }
  return hash.digest("hex").slice(0, 16)
}

async function addFile(hash: Hash, file: string): Promise<void> {
  hash.update(JSON.stringify(file)).update(await readFile(join(ROOT, file)))
}
