import { relative } from "node:path"
import type { z } from "zod"

/** Why a command cannot go on, in one sentence for the person who called it. */
export class CommandError extends Error {}

/** Runs a command; where it cannot go on, says why on standard error and exits with 1. */
export async function runCommand(command: () => Promise<void> | void): Promise<void> {
  try {
    await command()
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    console.error(error.message)
    process.exitCode = 1
  }
}

/** What `parse` makes of the command line, or one sentence that ends with how the command is called. */
export function readFlags<Flags>(usage: string, parse: () => Flags): Flags {
  try {
    return parse()
  } catch (error) {
    const [problem] = error instanceof Error ? error.message.split(/\.\s/) : []
    throw new CommandError(`${problem}; use: ${usage}`)
  }
}

/** The arguments that are no flags, as many as the schema wants. */
export function readPositionals<Names>(usage: string, args: readonly string[], schema: z.ZodType<Names>): Names {
  const parsed = schema.safeParse(args)
  if (!parsed.success) throw new CommandError(`Wrong number of arguments; use: ${usage}`)
  return parsed.data
}

/** The system's short name of an error, such as `EACCES`. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown error"
}

/** A path as the person who called would write it. */
export function shown(path: string): string {
  const fromHere = relative(process.cwd(), path)
  return fromHere === "" || fromHere.startsWith("..") ? path : fromHere
}
