import { readFileSync } from "node:fs"

/**
 * Calls once when the npm ends that runs this process as `event` (`start`, or `npx` for the command of that name): npm
 * hands SIGTERM to its shell alone and can hand on no SIGKILL, and either way the line of parents changes.
 */
export function whenNpmEnds(event: string, call: () => void): void {
  if (process.env["npm_lifecycle_event"] !== event) return
  const parents = lineage()
  const watch = setInterval(() => {
    if (lineage() === parents) return
    clearInterval(watch)
    call()
  }, 250).unref()
}

/** The shell that npm started this process in, and npm where the system's `/proc` tells. */
function lineage(): string {
  try {
    const [, npm] = readFileSync(`/proc/${process.ppid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? []
    return `${process.ppid} ${npm}`
  } catch {
    return String(process.ppid)
  }
}
