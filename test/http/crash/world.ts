import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { readHeader } from "../../../src/seal/index.ts"
import { buildBundle, type Recipe } from "../../support/bundle.ts"
import { makeIdentity } from "../../support/identity.ts"
import { type Running, startWorker } from "../../support/workerd.ts"
import { created } from "../systems/created.ts"
import { type Called, type Leg, rawSpeaker, type Speak } from "../systems/speakers.ts"
import { type Outside, startOutside } from "./outside.ts"

const STOPS: Recipe = { config: "test/fixtures/stops/wrangler.toml", sources: ["src", "test/fixtures/stops"] }

/** The origin by which the Worker is known wherever it listens, so that access tokens outlive a crash. */
const PUBLIC_URL = "https://waxseal.example"

/** A Worker whose steps can be stopped, to be killed there, and what outside of it survives that. */
export interface World {
  readonly outside: Outside
  readonly speak: Speak
  /** The names that `list_created` shows. */
  created(): ReturnType<typeof created>
  /** SIGKILL, and a start on what is left on disk, with the clock ahead by so many seconds. */
  crash(secondsAhead?: number): Promise<void>
  end(): Promise<void>
}

export async function createWorld(settings: Readonly<Record<string, string>>): Promise<World> {
  const bundle = await buildBundle(STOPS)
  const identity = await makeIdentity()
  const outside = await startOutside()
  const storage = await mkdtemp(join(tmpdir(), "waxseal-"))
  const start = (secondsAhead: number): Promise<Running> => {
    const ours = { PUBLIC_URL, OUTSIDE_URL: outside.url, CLOCK_AHEAD: String(secondsAhead * 1_000) }
    return startWorker({ bundle, bindings: { ...identity.bindings, ...settings, ...ours }, storage })
  }
  let worker = await start(0)
  const token = identity.token({ principal: "alice", audience: `${PUBLIC_URL}/mcp` })
  const url = () => `${worker.url}/mcp`
  return {
    outside,
    speak: (leg) => rawSpeaker({ url: url(), token: () => token })(leg),
    created: async () => created(url(), await token),
    async crash(secondsAhead = 0) {
      await worker.kill()
      worker = await start(secondsAhead)
    },
    async end() {
      await worker.kill()
      outside.end()
      await rm(storage, { recursive: true, force: true })
    },
  }
}

/** The first leg: the state that comes with the question, and the operation's id. */
export async function ask({ speak }: World, called: Called): Promise<{ state: string; operation: string }> {
  const told = await speak(called)
  if (told.kind !== "asked") throw new Error(`Nothing was asked: ${JSON.stringify(told)}`)
  return { state: told.state, operation: operationOf(told.state) }
}

function operationOf(state = ""): string {
  const header = readHeader(state)
  if (header === undefined) throw new Error("This is no state.")
  return header.beginsOperation
}

/**
 * Sends a second leg, and resolves when its operation has come to the step, where it stays: the client never hears of it.
 *
 * @param label by which the operation's own steps go; those of the ledger go by the operation's id
 */
export async function stopAt({ outside, speak }: World, step: string, leg: Leg, label?: string): Promise<void> {
  const names = [operationOf(leg.state), ...(label === undefined ? [] : [label])]
  const stopped = names.map((name) => outside.stop(step, name))
  const ended = speak(leg).then((told) => {
    throw new Error(`It was to stop at ${step}, and ended: ${JSON.stringify(told)}`)
  })
  await Promise.race([...stopped, ended])
}
