import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { makeIdentity } from "../../support/identity.ts"
import { startWorker } from "../../support/workerd.ts"
import { created } from "./created.ts"
import { type ModelServer, startModelServer } from "./model-server.ts"
import { ALICE, officialSpeaker, rawSpeaker, type Said, type Server, type Speak } from "./speakers.ts"

/** A server with all systems, the two ways to speak to it, and the places where their effects are counted. */
export interface World {
  readonly server: Server
  readonly model: ModelServer
  readonly raw: Speak
  readonly official: Speak
  /** What `list_created` shows. */
  created(): ReturnType<typeof created>
  /** Notes what somebody else was told here. */
  hear(told: Promise<Said>): Promise<Said>
  /** How many answers, of all that were given here, hold this text: credentials and prompts are shown, not kept. */
  timesShown(text: string): number
  end(): Promise<void>
}

export async function createWorld(settings: Readonly<Record<string, string>> = {}): Promise<World> {
  const identity = await makeIdentity()
  const model = await startModelServer()
  const storage = await mkdtemp(join(tmpdir(), "waxseal-"))
  const worker = await startWorker({
    bindings: { ...identity.bindings, ...model.settings, PRICES: '{"team":7}', BUDGETS: '{"team":1000}', ...settings },
    storage,
  })
  const url = `${worker.url}/mcp`
  const server: Server = { url, token: (who) => identity.token({ audience: url, ...who }) }
  const shown: string[] = []
  const hear = async (told: Promise<Said>) => {
    const said = await told
    if (said.kind === "outcome") shown.push(said.text)
    return said
  }
  const raw = rawSpeaker(server)
  const official = officialSpeaker(server)
  return {
    server,
    model,
    raw: (leg, who) => hear(raw(leg, who)),
    official: (leg, who) => hear(official.speak(leg, who)),
    hear,
    created: async () => created(url, await server.token(ALICE)),
    timesShown: (text) => shown.filter((one) => one.includes(text)).length,
    async end() {
      await official.close()
      await worker.stop()
      model.stop()
      await rm(storage, { recursive: true, force: true })
    },
  }
}
