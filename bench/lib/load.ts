import { fork } from "node:child_process"
import { once } from "node:events"
import { type Job, Outcome } from "../load/job.ts"

export interface LoadGenerator {
  /** Operations a second. Throws when a single answer was not what it must be. */
  run(job: Job): Promise<number>
  stop(): void
}

/** Starts the process that makes the load. The same process serves all rounds, so that both sides meet the same one. */
export function startLoadGenerator(): LoadGenerator {
  const generator = fork(new URL("../load/generator.ts", import.meta.url))
  const ended = once(generator, "exit").then(() => [{ problem: "the load generator ended" }])
  return {
    async run(job) {
      const answer = once(generator, "message")
      generator.send(job)
      const [message] = await Promise.race([answer, ended])
      const outcome = Outcome.parse(message)
      if ("problem" in outcome) throw new Error(`Load "${job.scenario}": ${outcome.problem}.`)
      return outcome.operations / outcome.seconds
    },
    stop() {
      generator.disconnect()
    },
  }
}
