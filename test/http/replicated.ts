import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "vitest"
import { makeIdentity, type TestIdentity, type TokenOptions } from "../support/identity.ts"
import { call, resultOf } from "../support/mcp.ts"
import { startWorker } from "../support/workerd.ts"

export const PUBLIC_URL = "https://waxseal.example"

/** The product, twice, over one store. */
export interface Replicated {
  readonly identity: TestIdentity
  readonly storage: string
  /** Alice's, for `/mcp`. */
  readonly token: string
  endpoint(replica: number): string
  tokenOf(options?: Partial<TokenOptions>): Promise<string>
  /** Creates a database by both legs, by default for alice. */
  create(replica: number, name: string, asToken?: string): Promise<void>
  end(): Promise<void>
}

export async function startReplicated(): Promise<Replicated> {
  const identity = await makeIdentity()
  const storage = await mkdtemp(join(tmpdir(), "waxseal-"))
  const worker = await startWorker({ bindings: { ...identity.bindings, PUBLIC_URL }, storage, replicas: ["other"] })
  const tokenOf: Replicated["tokenOf"] = (options = {}) =>
    identity.token({ principal: "alice", audience: `${PUBLIC_URL}/mcp`, ...options })
  const endpoint = (replica: number) => `${worker.urls[replica]}/mcp`
  const token = await tokenOf()
  return {
    identity,
    storage,
    token,
    endpoint,
    tokenOf,
    async create(replica, name, asToken = token) {
      const first = { token: asToken, method: "tools/call", name: "provision_database", arguments: { name } }
      const { requestState } = resultOf(await call(endpoint(replica), first))
      const inputResponses = { region: { action: "accept", content: { region: "eu-west-1" } } }
      const leg = { ...first, requestState: requestState ?? "", inputResponses }
      expect(resultOf(await call(endpoint(replica), leg)).structuredContent).toMatchObject({ status: "completed" })
    },
    async end() {
      await worker.kill()
      await rm(storage, { recursive: true, force: true })
    },
  }
}
