import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { type Bundle, buildBundle, PRODUCTION, ROOT } from "./bundle.ts"

/** One change of the sources that takes a guarantee away. */
export interface Bug {
  readonly file: string
  /** Must stand in the file exactly once, so that a bug that no longer fits is noticed. */
  readonly find: string
  readonly replace: string
}

/** Bundles the product, or what another recipe makes of it, with a bug in it, to see that a test notices. */
export async function bundleWith(name: string, { file, find, replace }: Bug, recipe = PRODUCTION): Promise<Bundle> {
  const folder = join("dist/planted", name)
  await rm(join(ROOT, folder), { recursive: true, force: true })
  await mkdir(join(ROOT, folder), { recursive: true })
  for (const part of [recipe.config, ...recipe.sources])
    await cp(join(ROOT, part), join(ROOT, folder, part), { recursive: true })
  const path = join(ROOT, folder, file)
  const parts = (await readFile(path, "utf8")).split(find)
  if (parts.length !== 2) throw new Error(`${file} holds the place of the bug "${name}" ${parts.length - 1} times.`)
  await writeFile(path, parts.join(replace))
  const sources = recipe.sources.map((source) => join(folder, source))
  return buildBundle({ config: join(folder, recipe.config), sources })
}
