import { z } from "zod"

/** What the suite says of the single things that it looked at in one scenario: its file `checks.json`. */
export const Checks = z.array(
  z.object({
    id: z.string(),
    status: z.enum(["SUCCESS", "INFO", "SKIPPED", "WARNING", "FAILURE"]),
    errorMessage: z.string().optional(),
  }),
)
export type Checks = z.infer<typeof Checks>

/** How the suite begins to say that a check needs a tool that the server has not. */
const TOOL_MISSING = "Not testable: server does not list the diagnostic tool "

/**
 * Why a scenario does not pass; nothing when it does. A warning is a failure here, and so is a scenario in which
 * nothing succeeded, because it has shown nothing.
 *
 * @param checks absent where the scenario ended without writing any
 * @param excused ids of checks that need a tool of the suite's own; only while they fail for the want of it
 */
export function faults(checks: Checks | undefined, excused: readonly string[] = []): string[] {
  if (!checks) return ["The scenario ended without a result."]
  const failed = checks.filter(
    ({ id, status, errorMessage }) =>
      (status === "WARNING" || status === "FAILURE") &&
      !(excused.includes(id) && errorMessage?.startsWith(TOOL_MISSING)),
  )
  if (failed.length > 0) {
    return failed.map(({ id, status, errorMessage = "no reason given" }) => `${status} ${id}: ${errorMessage}`)
  }
  return succeeded(checks) > 0 ? [] : ["Nothing in it succeeded."]
}

/** The number of checks that succeeded. */
export function succeeded(checks: Checks): number {
  return checks.filter(({ status }) => status === "SUCCESS").length
}
