// What the Worker must have bound, and what it may go without. An environment inherits no binding of the file's top.
import { CommandError } from "../../src/cli/command.ts"
import { entryPlaceOf, type Target } from "./target.ts"

interface Binding {
  readonly table: string
  readonly name: string
  /** An object's. */
  readonly className?: string
  /** Its entry, in TOML. */
  readonly entry: string
}

/** What a configuration binds. */
export interface Bound {
  readonly name: string
  /** An object's. */
  readonly className?: string
}

/** A rate limit, anywhere in a file. */
export interface Limit {
  /** undefined: at the file's top. */
  readonly env: string | undefined
  readonly name: string
  /** The counter that it counts in: the account's, whichever Worker counts there. */
  readonly id: string
}

const OBJECTS = "durable_objects.bindings"
const LIMITS = "ratelimits"

const SESSIONS = object("SESSIONS", "Session")
const SESSION_LISTS = object("SESSION_LISTS", "SessionList")
const CHANGES = object("CHANGES", "Changes")

const NEEDED: readonly Binding[] = [
  object("LEDGER", "Ledger"),
  object("REGISTRY", "Registry"),
  limit("MCP_RATE_LIMIT", "1_000"),
  limit("API_RATE_LIMIT", "10_000"),
]

function object(name: string, className: string): Binding {
  return { table: OBJECTS, name, className, entry: `name = "${name}", class_name = "${className}"` }
}

function limit(name: string, calls: string): Binding {
  const entry = `name = "${name}", a namespace_id that no other limit has, simple = { limit = ${calls}, period = 10 }`
  return { table: LIMITS, name, entry }
}

/**
 * What these bindings leave out by choice, a sentence each.
 *
 * @throws a CommandError that names the first that is missing or bound to another class, and how it is bound
 */
export function checkBindings(bound: readonly Bound[], target: Target): readonly string[] {
  const isMissing = ({ name }: Binding) => !bound.some((binding) => binding.name === name)
  const needed = NEEDED.find(isMissing)
  if (needed) throw missing(needed, target)
  const [half, ...rest] = [SESSIONS, SESSION_LISTS].filter(isMissing)
  if (half && rest.length === 0) throw missing(half, target, "; SESSIONS and SESSION_LISTS go together, or not at all")
  for (const binding of [...NEEDED, SESSIONS, SESSION_LISTS, CHANGES]) checkClass(binding, bound, target)
  return [
    ...(half ? ["SESSIONS and SESSION_LISTS are not bound: clients of 2025-11-25 are asked nothing."] : []),
    ...(isMissing(CHANGES) ? ["CHANGES is not bound: nobody can listen to changes."] : []),
  ]
}

function checkClass({ table, name, className, entry }: Binding, bound: readonly Bound[], target: Target): void {
  const other = bound.find((binding) => binding.name === name && binding.className !== className)
  if (other === undefined) return
  throw new CommandError(`${entryPlaceOf(target, table)}: ${name} is bound to ${other.className}; write ${entry}.`)
}

/** @throws a CommandError that names the first two limits of a file that would count in one counter */
export function checkLimits(limits: readonly Limit[], target: Target): void {
  const placeOf = ({ env }: Limit) => entryPlaceOf({ ...target, env }, LIMITS)
  for (const [at, limit] of limits.entries()) {
    const first = limits.slice(0, at).find(({ id }) => id === limit.id)
    if (first === undefined) continue
    throw new CommandError(
      `${placeOf(limit)}: ${limit.name} has the namespace_id ${limit.id} of ${first.name} in ${placeOf(first)}, and they would use up each other's calls; write one that no other limit has.`,
    )
  }
}

function missing({ table, name, entry }: Binding, target: Target, why = ""): CommandError {
  const inherits = target.env === undefined ? "" : ", and an environment inherits none"
  return new CommandError(`${entryPlaceOf(target, table)}: ${name} is not bound${inherits}; write ${entry}${why}.`)
}
