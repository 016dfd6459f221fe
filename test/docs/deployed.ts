// A newcomer who deploys, and the service that runs on what was deployed last.
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Api, startApi } from "../support/api.ts"
import { type Newcomer, newcomer } from "./newcomer.ts"

export interface Deployer {
  readonly someone: Newcomer
  /** The folder of what the service stores, from one deployment to the next. */
  readonly storage: string
  /** Does something with the service as it is deployed now. */
  deployed<Result>(use: (api: Api) => Promise<Result>): Promise<Result>
  leave(): Promise<void>
}

export async function deployer(): Promise<Deployer> {
  const someone = newcomer("an empty folder")
  const storage = await mkdtemp(join(tmpdir(), "waxseal-"))
  return {
    someone,
    storage,
    async deployed(use) {
      const api = await startApi({ storage, bindings: { SEAL_KEYS: someone.deployedRing() } })
      try {
        return await use(api)
      } finally {
        await api.stop()
      }
    },
    async leave() {
      someone.leave()
      await rm(storage, { recursive: true, force: true })
    },
  }
}
