import { spawn } from "node:child_process"
import { createHash, type Hash } from "node:crypto"
import { once } from "node:events"
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { z } from "zod"

/** The root of the project; paths below are relative to it. */
export const ROOT = join(import.meta.dirname, "../..")

const BUNDLES = join(ROOT, "dist/bundles")
const MANIFEST = "manifest.json"

const Manifest = z.object({
  script: z.string(),
  compatibilityDate: z.string(),
  compatibilityFlags: z.array(z.string()),
  /** Durable Object classes by the name of their binding. */
  objects: z.record(z.string(), z.string()),
})

/** A Worker as `wrangler deploy` would upload it. */
export interface Bundle extends Readonly<z.infer<typeof Manifest>> {
  /** The folder that holds `script`. */
  readonly folder: string
}

/** What a bundle is made of: a wrangler configuration and the folders whose files it may import. */
export interface Recipe {
  readonly config: string
  readonly sources: readonly string[]
}

/** What is deployed. */
export const PRODUCTION: Recipe = { config: "wrangler.toml", sources: ["src"] }

/**
 * Bundles a Worker with `wrangler deploy --dry-run --minify`: the very bytes that production runs. A bundle is kept in
 * `dist/bundles` under the hash of its sources, so only the first call after a change takes the seconds that it takes.
 *
 * @throws with wrangler's own words when it does not bundle
 */
export async function buildBundle(recipe: Recipe = PRODUCTION): Promise<Bundle> {
  const folder = join(BUNDLES, await hashOf(recipe))
  const kept = await readManifest(folder)
  if (kept) return { ...kept, folder }
  await build(recipe, folder)
  const made = await readManifest(folder)
  if (!made) throw new Error(`${recipe.config} was bundled, but ${folder} holds no manifest.`)
  return { ...made, folder }
}

async function readManifest(folder: string): Promise<z.infer<typeof Manifest> | undefined> {
  const text = await readFile(join(folder, MANIFEST), "utf8").catch(() => undefined)
  return text === undefined ? undefined : Manifest.parse(JSON.parse(text))
}

/** Builds aside and moves into place at once: test files that run at the same time may want the same bundle. */
async function build(recipe: Recipe, folder: string): Promise<void> {
  await mkdir(BUNDLES, { recursive: true })
  const aside = await mkdtemp(join(BUNDLES, "building-"))
  try {
    await runWrangler(["deploy", "--config", recipe.config, "--dry-run", "--minify", "--outdir", aside])
    await writeFile(join(aside, MANIFEST), JSON.stringify(await describe(recipe, aside)))
    await rename(aside, folder).catch(ignoreThatAnotherWasFirst)
  } finally {
    await rm(aside, { recursive: true, force: true })
  }
}

const Config = z.object({
  compatibility_date: z.string(),
  compatibility_flags: z.array(z.string()),
  durable_objects: z.object({ bindings: z.array(z.object({ name: z.string(), class_name: z.string() })) }),
})

async function describe(recipe: Recipe, outdir: string): Promise<z.infer<typeof Manifest>> {
  const { unstable_readConfig } = await import("wrangler")
  const config = Config.parse(unstable_readConfig({ config: join(ROOT, recipe.config) }))
  const [script, ...others] = (await readdir(outdir)).filter((file) => !/\.(map|md)$/.test(file))
  if (script === undefined || others.length > 0) {
    throw new Error(`${recipe.config} must bundle into one script, but made ${[script, ...others].join(", ")}.`)
  }
  return {
    script,
    compatibilityDate: config.compatibility_date,
    compatibilityFlags: config.compatibility_flags,
    objects: Object.fromEntries(config.durable_objects.bindings.map(({ name, class_name }) => [name, class_name])),
  }
}

async function runWrangler(args: readonly string[]): Promise<void> {
  const wrangler = spawn(process.execPath, [join(ROOT, "node_modules/wrangler/bin/wrangler.js"), ...args], {
    cwd: ROOT,
    env: { ...process.env, WRANGLER_SEND_METRICS: "false", WRANGLER_HIDE_BANNER: "true", WRANGLER_WRITE_LOGS: "false" },
    stdio: ["ignore", "pipe", "pipe"],
  })
  let output = ""
  for (const stream of [wrangler.stdout, wrangler.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text
    })
  }
  const [code] = await once(wrangler, "close")
  if (code !== 0) throw new Error(`wrangler ${args.join(" ")} failed:\n${output}`)
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
