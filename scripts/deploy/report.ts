import { CommandError } from "../../src/cli/command.ts"
import type { Finding } from "./smoke.ts"

/** Prints findings, a line each; throws when one is wrong. */
export function report(origin: string, findings: readonly Finding[]): void {
  for (const { what, wrong } of findings) console.log(wrong === undefined ? `ok    ${what}` : `WRONG ${what}: ${wrong}`)
  const wrong = findings.filter((finding) => finding.wrong !== undefined).length
  if (wrong > 0)
    throw new CommandError(`${wrong} of ${findings.length} looks at ${origin} found something wrong; see above.`)
}
