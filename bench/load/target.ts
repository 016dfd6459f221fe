import type { Job } from "./job.ts"

export interface Reply {
  readonly status: number
  readonly body: string
}

export interface Target {
  readonly token: string
  readonly call: Job["call"] | undefined
  /** Sends a POST to a path of the server under load. */
  send(path: string, headers: Readonly<Record<string, string>>, body: string): Promise<Reply>
}

/** One unit of work. It checks each answer, and throws at the first that is not what it must be. */
export type Operation = (target: Target) => Promise<void>
