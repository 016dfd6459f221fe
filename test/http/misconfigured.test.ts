import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { makeIdentity, type TestIdentity } from "../support/identity.ts"
import { startWorker } from "../support/workerd.ts"

let identity: TestIdentity
let storage: string

beforeAll(async () => {
  identity = await makeIdentity()
  storage = await mkdtemp(join(tmpdir(), "waxseal-"))
})

afterAll(async () => {
  await rm(storage, { recursive: true, force: true })
})

const PATHS = [
  "/",
  "/healthz",
  "/mcp",
  "/v1/seal",
  "/openapi.json",
  "/.well-known/oauth-protected-resource/mcp",
  "/nowhere",
]

/** What every endpoint answers under these settings, and what the operator reads. */
async function under(settings: Record<string, string | undefined>, headers: Record<string, string> = {}) {
  const given = Object.entries({ ...identity.bindings, ...settings })
  const bindings = Object.fromEntries(given.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
  const worker = await startWorker({ bindings, storage })
  const answers = await Promise.all(
    PATHS.map(async (path) => {
      const response = await fetch(`${worker.url}${path}`, { headers })
      return { status: response.status, body: await response.text() }
    }),
  )
  await worker.stop()
  return { answers, logs: worker.logs() }
}

const SHORT = "c2hvcnQ"
const cases: [setting: string, value: string | undefined][] = [
  ["SEAL_KEYS", undefined],
  ["SEAL_KEYS", ""],
  ["SEAL_KEYS", "[]"],
  ["SEAL_KEYS", `[{"key":"${SHORT}","sealsFrom":"2026-01-01T00:00:00Z"}]`],
  ["AUTH_JWKS", undefined],
  ["AUTH_JWKS", "{}"],
  ["AUTH_ISSUER", undefined],
  ["STATE_TTL_SECONDS", "0"],
  ["STATE_TTL_SECONDS", "1e9"],
  ["LEDGER_SHARDS", "many"],
  ["PUBLIC_URL", "ftp://nowhere"],
]

it.each(cases)(
  "with a wrong %s (%j) every endpoint answers 503 and the log names the setting",
  async (setting, value) => {
    const { answers, logs } = await under({ [setting]: value })
    for (const { status, body } of answers) {
      expect(status).toBe(503)
      expect(JSON.parse(body)).toMatchObject({ code: "misconfigured", status: 503 })
    }
    expect(logs).toMatch(new RegExp(`"event":"misconfigured","problem":"${setting}: `))
    expect(logs).not.toContain(SHORT)
  },
)

it("is not served under a strange host name without PUBLIC_URL", async () => {
  const worker = await startWorker({ bindings: identity.bindings, storage })
  const { request } = await import("node:http")
  const status = await new Promise((resolve, reject) => {
    request(`${worker.url}/healthz`, { headers: { host: "evil.test" } }, ({ statusCode }) => resolve(statusCode))
      .on("error", reject)
      .end()
  })
  expect(status).toBe(503)
  expect(worker.logs()).toContain("PUBLIC_URL: ")
  await worker.stop()
})
