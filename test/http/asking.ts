import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { buildBundle } from "../support/bundle.ts"
import { makeIdentity } from "../support/identity.ts"
import { type Running, startWorker } from "../support/workerd.ts"

const FIXTURE = { config: "test/fixtures/asking/wrangler.toml", sources: ["src", "test/fixtures/asking"] }

/** A server of somebody's own, with one tool for each kind of question; `end` leaves nothing of it. */
export async function startAsking(): Promise<{ readonly worker: Running; end(): Promise<void> }> {
  const { SEAL_KEYS } = (await makeIdentity()).bindings
  const storage = await mkdtemp(join(tmpdir(), "waxseal-"))
  const bundle = await buildBundle(FIXTURE)
  const worker = await startWorker({ bundle, bindings: { SEAL_KEYS, AUTH_MODE: "none" }, storage })
  return {
    worker,
    async end() {
      await worker.stop()
      await rm(storage, { recursive: true, force: true })
    },
  }
}
