import { once } from "node:events"
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { delimiter, join } from "node:path"
import { parseEnv } from "node:util"
import { createLocalJWKSet, decodeJwt, jwtVerify } from "jose"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { call, resultOf } from "../support/mcp.ts"
import { freePort } from "../support/port.ts"
import {
  type Command,
  descendants,
  type Ended,
  endAll,
  isAlive,
  newPlace,
  type Place,
  run,
  start,
  token,
} from "./local.ts"

const READY = /Waxseal runs on .*\n[\s\S]*curl[\s\S]*\n\n/
const STOPPED: Ended = { code: 0, output: expect.any(String), errors: "" }

afterAll(endAll)

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1")
  } catch {
    return ""
  }
}

async function started(command: Command): Promise<Command> {
  await command.prints(READY)
  return command
}

/** Ends a server by a signal and waits until nothing of it is left. */
async function endBy(signal: NodeJS.Signals, { process, ended }: Command): Promise<Ended> {
  const family = descendants(process.pid ?? 0)
  expect(family.length).toBeGreaterThanOrEqual(3)
  process.kill(signal)
  const end = await ended
  await expect.poll(() => family.filter(isAlive), { timeout: 5_000 }).toEqual([])
  return end
}

async function refusal(command: Command): Promise<string> {
  const { code, output, errors } = await command.ended
  expect({ code, output }).toEqual({ code: 1, output: "" })
  return errors
}

async function tokenFor(place: Place, port: number): Promise<string> {
  const { output } = await token(place, "--principal", "alice", "--issuer-port", String(port))
  return output.trim()
}

/** Answers with the requestState that went back and forth. */
async function createDatabase(port: number, bearer: string): Promise<string> {
  const url = `http://localhost:${port}/mcp`
  const request = { token: bearer, method: "tools/call", name: "provision_database", arguments: { name: "orders" } }
  const { requestState = "" } = resultOf(await call(url, request))
  const inputResponses = { region: { action: "accept", content: { region: "eu-west-1" } } }
  const created = resultOf(await call(url, { ...request, inputResponses, requestState }))
  expect(created.structuredContent).toMatchObject({ status: "completed" })
  return requestState
}

async function listDatabases(port: number, bearer: string): Promise<unknown> {
  const request = { token: bearer, method: "tools/call", name: "list_created", arguments: {} }
  return resultOf(await call(`http://localhost:${port}/mcp`, request)).structuredContent?.["databases"]
}

function secretsOf({ secrets }: Place): string[] {
  const files = [".dev.vars", ".dev.signing-key.json"].map((name) => readFileSync(join(secrets, name), "utf8"))
  const values = files.flatMap((text) => text.match(/[\w-]{43}/g) ?? [])
  expect(values).toHaveLength(6)
  return values
}

/** Every file of the state but those of ledger and registry. */
function strayFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\/waxseal-(Ledger|Registry)$/.test(entry.parentPath))
    .map((entry) => join(entry.parentPath, entry.name))
}

const hasCurl = (process.env["PATH"] ?? "").split(delimiter).some((folder) => existsSync(join(folder, "curl")))

describe("npm start", () => {
  it("serves, keeps its state through every end, and tells nothing", async () => {
    const place = newPlace()
    const port = await freePort()
    const first = await started(start(place, ["--port", String(port)]))
    const bearer = await tokenFor(place, port)
    // Not how a token is sent, and yet it may not be kept.
    await fetch(`http://localhost:${port}/?access_token=${bearer}`)
    const state = await createDatabase(port, bearer)
    const databases = await listDatabases(port, bearer)
    expect(databases).toMatchObject([{ name: "orders", region: "eu-west-1" }])

    expect(await endBy("SIGTERM", first)).toEqual(STOPPED)
    const second = await started(start(place, [], { PORT: String(port) }))
    expect(await listDatabases(port, bearer)).toEqual(databases)

    await endBy("SIGKILL", second)
    const third = await started(start(place, ["--port", String(port)]))
    expect(await listDatabases(port, bearer)).toEqual(databases)

    expect(await endBy("SIGINT", third)).toEqual(STOPPED)
    const written = [first, second, third].map((command) => command.output())
    written.push(...strayFiles(place.state).map((file) => readFileSync(file, "latin1")))
    for (const hidden of [bearer, state, "eu-west-1", ...secretsOf(place)]) {
      for (const text of written) expect(text).not.toContain(hidden)
    }
  })

  it("leaves nothing when all its Node processes are killed at once", async () => {
    const place = newPlace()
    const port = String(await freePort())
    const { process, ended } = await started(start(place, ["--port", port]))
    const family = descendants(process.pid ?? 0)
    const isNode = (pid: number) => commandLine(pid).includes("serve.ts")
    for (const pid of family.filter(isNode)) globalThis.process.kill(pid, "SIGKILL")
    process.kill("SIGKILL")
    await ended
    await expect.poll(() => family.filter(isAlive), { timeout: 10_000 }).toEqual([])
    const next = await started(start(place, ["--port", port]))
    expect(await endBy("SIGTERM", next)).toEqual(STOPPED)
  })

  describe("while it runs", () => {
    const place = newPlace()
    let port: number
    let server: Command

    beforeAll(async () => {
      port = await freePort()
      server = await started(start(place, ["--port", String(port)]))
    })

    afterAll(async () => {
      server.process.kill("SIGTERM")
      await server.ended
    })

    it.skipIf(!hasCurl)("has printed a command that works as pasted", async () => {
      const pasted = server.output().match(/^curl[\s\S]*?\n\n/m)?.[0] ?? ""
      const { output } = await run(place, "sh", ["-c", pasted]).ended
      expect(JSON.parse(output)).toMatchObject({ id: 1, result: { resultType: "input_required" } })
    })

    it("is alone with its state", async () => {
      const otherPort = String(await freePort())
      expect(await refusal(start(place, ["--port", otherPort]))).toBe(
        `Another server uses ${place.state}; stop it, or set WAXSEAL_STATE to another folder.\n`,
      )
    })

    it("is alone on its port", async () => {
      expect(await refusal(start({ ...place, state: newPlace().state }, ["--port", String(port)]))).toBe(
        `Port ${port} is taken; stop what uses it, or choose another: npm start -- --port 9000.\n`,
      )
    })
  })

  it("ends with its server, and leaves nothing of it", async () => {
    const place = newPlace()
    const command = await started(start(place, ["--port", String(await freePort())]))
    const family = descendants(command.process.pid ?? 0)
    process.kill(family[0] ?? 0, "SIGKILL")
    expect((await command.ended).code).toBe(1)
    await expect.poll(() => family.filter(isAlive), { timeout: 5_000 }).toEqual([])
  })

  it.skipIf(!existsSync("/proc"))("ends with its runtime, and says so", async () => {
    const command = await started(start(newPlace(), ["--port", String(await freePort())]))
    const [runtime = 0] = descendants(command.process.pid ?? 0).filter((pid) => commandLine(pid).includes("workerd"))
    process.kill(runtime, "SIGKILL")
    expect(await command.ended).toMatchObject({ code: 1, errors: "The runtime has ended by itself; start again.\n" })
  })

  it.each(["SIGTERM", "SIGKILL"] as const)("ends when npm is ended by %s", async (signal) => {
    const place = newPlace()
    await endBy(signal, await started(run(place, "npm", ["start"], { PORT: String(await freePort()) })))
  })

  it("ends when stopped before it is ready", async () => {
    const command = start(newPlace(), ["--port", String(await freePort())])
    await expect
      .poll(() => descendants(command.process.pid ?? 0).length, { interval: 20, timeout: 10_000 })
      .toBeGreaterThan(0)
    const family = descendants(command.process.pid ?? 0)
    command.process.kill("SIGTERM")
    expect(await command.ended).toEqual({ code: 0, output: "", errors: "" })
    await expect.poll(() => family.filter(isAlive), { timeout: 5_000 }).toEqual([])
  })

  it.skipIf(!existsSync("/proc"))("ends the runtime that a killed server left, and takes its state over", async () => {
    const place = newPlace()
    const port = String(await freePort())
    const { process: first, ended } = await started(start(place, ["--port", port]))
    const family = descendants(first.pid ?? 0)
    const runtimes = family.filter((pid) => commandLine(pid).includes("workerd"))
    first.kill("SIGKILL")
    for (const pid of family.filter((pid) => !runtimes.includes(pid))) process.kill(pid, "SIGKILL")
    await ended
    expect(runtimes.filter(isAlive)).not.toEqual([])
    const next = await started(start(place, ["--port", port]))
    expect(runtimes.filter(isAlive)).toEqual([])
    expect(await endBy("SIGTERM", next)).toEqual(STOPPED)
  })

  it("refuses settings that do not do on localhost, in one sentence", async () => {
    const settings = { PUBLIC_URL: "https://waxseal.example" }
    expect(await refusal(start(newPlace(), [], settings))).toMatch(/^[A-Z_]+: .+\.\n$/)
  })

  it.skipIf(!existsSync("/proc"))("refuses a state folder that cannot be made", async () => {
    expect(await refusal(start({ ...newPlace(), state: "/proc/waxseal/state" }, []))).toBe(
      "The folder /proc/waxseal/state cannot be used: it cannot be made there; set WAXSEAL_STATE to another folder.\n",
    )
  })

  it("sees that another program holds the other address of localhost", async () => {
    const other = createServer().listen(0, "::1")
    await once(other, "listening")
    const address = other.address()
    const port = typeof address === "object" ? address?.port : undefined
    expect(await refusal(start(newPlace(), ["--port", String(port)]))).toMatch(/^Port \d+ is taken; /)
    other.close()
  })

  it.each([
    [[], { PORT: "0" }, "The port must be a whole number from 1 to 65535.\n"],
    [["--prot", "1"], {}, "Unknown option '--prot'; use: npm start -- [--port 8787]\n"],
    [[], { SEAL_KEYS: "[]" }, "SEAL_KEYS: it holds no key.\n"],
    [[], { STATE_TTL_SECONDS: "0" }, "STATE_TTL_SECONDS: must be a whole number from 1 to 86400.\n"],
    [[], { AUTH_JWKS: "{}" }, 'AUTH_JWKS: must be a JSON Web Key Set: {"keys":[…]} with at least one key.\n'],
  ])("refuses %j with %j in one sentence", async (args, more, sentence) => {
    expect(await refusal(start(newPlace(), args, more))).toBe(sentence)
  })
})

describe("development keys", () => {
  const vars = ({ secrets }: Place) => join(secrets, ".dev.vars")
  const signingKey = ({ secrets }: Place) => join(secrets, ".dev.signing-key.json")

  it("are made once, for their owner alone", async () => {
    const place = newPlace()
    const { output } = await token(place, "--principal", "alice")
    const again = await token(place, "--principal", "alice")
    const { AUTH_JWKS = "" } = parseEnv(readFileSync(vars(place), "utf8"))
    const keys = createLocalJWKSet(JSON.parse(AUTH_JWKS))
    for (const text of [output, again.output]) await jwtVerify(text.trim(), keys, { algorithms: ["ES256"] })
    for (const file of [vars(place), signingKey(place)]) expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(AUTH_JWKS).not.toContain('"d"')
  })

  it("are one pair, however many make them at once", async () => {
    const place = newPlace()
    const racers = `
      const { localSecrets } = await import("./scripts/local.ts")
      console.log(JSON.stringify(await Promise.all([localSecrets(), localSecrets(), localSecrets()])))`
    const { output } = await run(place, "node", ["--input-type=module", "-e", racers]).ended
    const [first, ...others] = JSON.parse(output)
    expect(others).toEqual([first, first])
    expect(first.vars.AUTH_JWKS).toContain(first.signingKey.x)
    expect(readdirSync(place.secrets).sort()).toEqual([".dev.signing-key.json", ".dev.vars"])
  })

  it.each([
    ["a damaged signing key", signingKey, "{", / is damaged; restore it, or delete .+ to make new keys\.\n$/],
    ["a damaged .dev.vars", vars, "SEAL_KEYS=", / is damaged; restore it, or delete .+ to make new keys\.\n$/],
  ])("are never made over %s", async (_, file, content, sentence) => {
    const place = newPlace()
    await token(place, "--principal", "alice")
    writeFileSync(file(place), content)
    const { code, output, errors } = await token(place, "--principal", "alice")
    expect({ code, output, errors }).toEqual({ code: 1, output: "", errors: expect.stringMatching(sentence) })
    expect(readFileSync(file(place), "utf8")).toBe(content)
  })

  it("are never made beside half of a pair", async () => {
    const place = newPlace()
    writeFileSync(vars(place), "SEAL_KEYS='[]'\n")
    const { code, errors } = await token(place, "--principal", "alice")
    expect({ code, errors }).toEqual({
      code: 1,
      errors: expect.stringMatching(/ is missing while .+ to make new keys\.\n$/),
    })
    expect(readdirSync(place.secrets)).toEqual([".dev.vars"])
  })
})

describe("npm run -s token", () => {
  it("says who calls, for /mcp or for /v1", async () => {
    const place = newPlace()
    const { output } = await token(place, "--principal", "alice")
    expect(decodeJwt(output)).toEqual({
      iss: "http://localhost:8787",
      aud: "http://localhost:8787/mcp",
      sub: "alice",
      tenant: "local",
      scope: "mcp projects:create",
      iat: expect.any(Number),
      exp: expect.any(Number),
      jti: expect.any(String),
    })
    const flags = ["--api", "--tenant", "acme", "--client", "cli", "--ttl", "60", "--issuer-port", "9000"]
    const claims = decodeJwt((await token(place, "--principal", "bob", ...flags)).output)
    expect(claims).toMatchObject({
      iss: "http://localhost:9000",
      aud: "http://localhost:9000/v1",
      sub: "bob",
      tenant: "acme",
      client_id: "cli",
      scope: "state:seal state:open state:redeem operations",
    })
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(60)
    const narrow = await token(
      place,
      "--principal",
      "a",
      "--scope",
      "mcp",
      "--audience",
      "https://waxseal.example.com/mcp",
    )
    expect(decodeJwt(narrow.output)).toMatchObject({ scope: "mcp", aud: "https://waxseal.example.com/mcp" })
  })

  it.each([
    [[], /^--principal is required; use: /],
    [["--principal", "a", "--admin"], /^Unknown option '--admin'; use: /],
    [["--principal", "a", "b"], /^Unexpected argument 'b'; use: /],
    [["--principal", "a", "--ttl", "1e3"], /^--ttl must be a whole number of seconds from 1 to 31536000\.\n$/],
  ])("refuses %j in one sentence", async (args, sentence) => {
    const { code, output, errors } = await token(newPlace(), ...args)
    expect({ code, output, errors }).toEqual({ code: 1, output: "", errors: expect.stringMatching(sentence) })
  })
})
