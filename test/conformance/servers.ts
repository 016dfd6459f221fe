import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { z } from "zod"
import { buildBundle } from "../support/bundle.ts"
import { makeIdentity } from "../support/identity.ts"
import { freePort } from "../support/port.ts"
import { type Running, startWorker, type WorkerOptions } from "../support/workerd.ts"
import { withToken } from "./token-proxy.ts"

const FIXTURE = {
  config: "test/conformance/fixture/wrangler.toml",
  sources: ["src", "test/conformance/fixture"],
}

/** What is done with the URL of an MCP endpoint while it serves. */
type Use<Result> = (url: string) => Promise<Result>

/** Serves the fixture: the tools of the suite, built on this library, for everyone. */
export async function onFixture<Result>(use: Use<Result>): Promise<Result> {
  const { SEAL_KEYS } = (await makeIdentity()).bindings
  const port = await freePort()
  const bindings = { SEAL_KEYS, AUTH_MODE: "none", ALLOWED_ORIGINS: `http://127.0.0.1:${port}` }
  return onWorker({ bundle: await buildBundle(FIXTURE), bindings, port }, ({ url }) => use(`${url}/mcp`))
}

/** Serves the product as it is deployed, behind a door that adds the access token it asks for. */
export async function onProduct<Result>(use: Use<Result>): Promise<Result> {
  const door = createServer().listen(0, "127.0.0.1")
  await once(door, "listening")
  const { port: doorPort } = z.object({ port: z.number() }).parse(door.address())
  const origin = `http://127.0.0.1:${doorPort}`
  const identity = await makeIdentity()
  const bindings = { ...identity.bindings, ALLOWED_ORIGINS: origin }
  try {
    return await onWorker({ bindings }, async ({ port }) => {
      const token = await identity.token({ principal: "conformance", audience: `${origin}/mcp` })
      door.on("request", withToken(port, token))
      return use(`${origin}/mcp`)
    })
  } finally {
    door.close()
    door.closeAllConnections()
  }
}

/** Leaves no process and no file behind. */
async function onWorker<Result>(
  options: Omit<WorkerOptions, "storage">,
  use: (worker: Running) => Promise<Result>,
): Promise<Result> {
  const storage = await mkdtemp(join(tmpdir(), "waxseal-conformance-"))
  try {
    const worker = await startWorker({ ...options, storage })
    return await use(worker).finally(() => worker.kill())
  } finally {
    await rm(storage, { recursive: true, force: true })
  }
}
