// What the Worker must have bound, and what it may go without. An environment inherits no binding of the file's top.
import { CommandError } from "../../src/cli/command.ts"
import { entryPlaceOf, type Target } from "./target.ts"

interface Binding {
  readonly table: string
  readonly name: string
  /** Its entry, in TOML. */
  readonly entry: string
}

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
  return { table: "durable_objects.bindings", name, entry: `name = "${name}", class_name = "${className}"` }
}

function limit(name: string, calls: string): Binding {
  const entry = `name = "${name}", a namespace_id that no other limit has, simple = { limit = ${calls}, period = 10 }`
  return { table: "ratelimits", name, entry }
}

/**
 * What these bindings leave out by choice, a sentence each.
 *
 * @throws a CommandError that names the first that is missing, and how it is bound
 */
export function checkBindings(bound: readonly string[], target: Target): readonly string[] {
  const isMissing = ({ name }: Binding) => !bound.includes(name)
  const needed = NEEDED.find(isMissing)
  if (needed) throw missing(needed, target)
  const [half, ...rest] = [SESSIONS, SESSION_LISTS].filter(isMissing)
  if (half && rest.length === 0) throw missing(half, target, "; SESSIONS and SESSION_LISTS go together, or not at all")
  return [
    ...(half ? ["SESSIONS and SESSION_LISTS are not bound: clients of 2025-11-25 are asked nothing."] : []),
    ...(isMissing(CHANGES) ? ["CHANGES is not bound: nobody can listen to changes."] : []),
  ]
}

function missing({ table, name, entry }: Binding, target: Target, why = ""): CommandError {
  const inherits = target.env === undefined ? "" : ", and an environment inherits none"
  return new CommandError(`${entryPlaceOf(target, table)}: ${name} is not bound${inherits}; write ${entry}${why}.`)
}
