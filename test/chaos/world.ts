import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { z } from "zod"
import type { Bundle, Recipe } from "../support/bundle.ts"
import { makeIdentity } from "../support/identity.ts"
import { freePort } from "../support/port.ts"
import { startServe } from "../support/serve.ts"
import type { Running } from "../support/workerd.ts"

export const FIXTURE: Recipe = {
  config: "test/fixtures/chaos/wrangler.toml",
  sources: ["src", "test/fixtures/chaos"],
}

/** The origin by which the Worker is known wherever it listens, so that access tokens outlive a crash. */
const PUBLIC_URL = "https://waxseal.example"
/** Less than an operation may take, so that two tokens of one operation expire at different times. */
const STATE_TTL_SECONDS = 840
/** The longest storm whose first operations can still be asked about at its end. */
export const LONGEST_STORM_SECONDS = 480
const DAY = 86_400

const Receipts = z.array(z.object({ label: z.string(), receipt: z.string() }))

/** The Worker under test, which may crash at any moment, and the counter beside it, which never does. */
export interface World {
  /** Where the Worker listens; waits while it is down. */
  url(): Promise<string>
  token(tenant: string): Promise<string>
  /** Where effects are run and counted. */
  readonly counterUrl: string
  /** What the counter has counted. */
  counted(): Promise<z.infer<typeof Receipts>>
  /** SIGKILL to the server, and a start on what is left on disk, with the clock ahead by so much. */
  crash(clockAhead?: number): Promise<void>
  end(): Promise<void>
}

/** `data` is the folder that the server keeps; by default one that goes away with the world. */
export async function createWorld(bundle: Bundle, data?: string): Promise<World> {
  const identity = await makeIdentity()
  const folder = await mkdtemp(join(tmpdir(), "waxseal-chaos-"))
  const counter = fork(join(import.meta.dirname, "counter.ts"))
  const counterUrl = `http://127.0.0.1:${await portOf(counter)}`

  const port = await freePort()
  const start = (clockAhead: number) =>
    startServe({
      bundle,
      bindings: {
        ...identity.bindings,
        PUBLIC_URL,
        COUNTER_URL: counterUrl,
        CLOCK_AHEAD: String(clockAhead),
        LEDGER_SHARDS: "2",
        STATE_TTL_SECONDS: String(STATE_TTL_SECONDS),
      },
      data: data ?? join(folder, "data"),
      port,
    })

  let up: Promise<Running> = start(0)
  await up
  return {
    url: async () => (await up).url,
    token: (tenant) =>
      identity.token({ principal: "alice", tenant, audience: `${PUBLIC_URL}/mcp`, scope: "mcp", ttl: DAY }),
    counterUrl,
    counted: async () => Receipts.parse(await (await fetch(counterUrl)).json()),
    async crash(clockAhead = 0) {
      const down = await up
      up = down.kill().then(() => start(clockAhead))
      await up
    },
    async end() {
      await (await up).kill()
      counter.disconnect()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function portOf(counter: ChildProcess): Promise<number> {
  const [port] = await once(counter, "message")
  return z.number().parse(port)
}
