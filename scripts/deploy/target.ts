// Which Worker is meant: a configuration file and, maybe, one of its environments; and how sentences speak of it.
import { resolve } from "node:path"
import { shown } from "../../src/cli/command.ts"
import { ROOT } from "../local.ts"

const DEFAULT_FILE = "wrangler.toml"

export interface Target {
  readonly path: string
  /** As the person who called would write the path. */
  readonly file: string
  /** undefined: what stands outside of all environments. */
  readonly env: string | undefined
}

/** An environment of no name is none, as it is for wrangler. */
export function targetOf(file = DEFAULT_FILE, env = ""): Target {
  const path = resolve(ROOT, file)
  return { path, file: shown(path), env: env === "" ? undefined : env }
}

/** Wrangler's flags, complete: an environment that only the shell names is not to slip in. */
export function flagsOf({ path, env = "" }: Target): readonly string[] {
  return ["--config", path, "--env", env]
}

/** The flags that a person must add to mean the same Worker, with a space before them. */
export function askedFlags({ path, file, env }: Target): string {
  const config = path === resolve(ROOT, DEFAULT_FILE) ? "" : ` --config ${file}`
  return `${config}${env === undefined ? "" : ` --env ${env}`}`
}

/** Where it begins: the file itself, or the table of its environment. */
export function topOf({ file, env }: Target): string {
  return env === undefined ? `${file}, at its top` : `${file}, [env.${env}]`
}

/** Where a table stands, such as `wrangler.toml, [env.staging.vars]`. */
export function placeOf(target: Target, table: string): string {
  return `${target.file}, [${inEnvironment(target, table)}]`
}

/** Where a table stands that is one of several, such as `wrangler.toml, [[ratelimits]]`. */
export function entryPlaceOf(target: Target, table: string): string {
  return `${target.file}, [[${inEnvironment(target, table)}]]`
}

function inEnvironment({ env }: Target, table: string): string {
  return env === undefined ? table : `env.${env}.${table}`
}
