import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { readBundle, writeManifest } from "../../src/cli/serve/index.ts"
import { portProblem } from "../../src/cli/serve/port.ts"
import { type Bundle, buildBundle, ROOT } from "../support/bundle.ts"
import { type EventStream, readEvents } from "../support/event-stream.ts"
import { makeIdentity, type TestIdentity } from "../support/identity.ts"
import { type Call, call, encode, resultOf } from "../support/mcp.ts"
import { freePort } from "../support/port.ts"
import { type Command, descendants, type Ended, endAll, isAlive, newPlace, run } from "./local.ts"

const PUBLIC_URL = "https://waxseal.example"
const ON_LINUX = existsSync("/proc/self/stat")
const DEVELOPMENT_RING = JSON.stringify([
  { key: "ZGV2LW9ubHk0NTY3ODlhYmNkZWZHSElKS0xNTk9QUVI", sealsFrom: "2026-01-01T00:00:00Z" },
])

let bundle: Bundle
let slowly: Bundle
let identity: TestIdentity
let bindings: Readonly<Record<string, string>>
let alice: string

beforeAll(async () => {
  bundle = await buildBundle()
  slowly = await buildBundle({ config: "test/fixtures/slow/wrangler.toml", sources: ["src", "test/fixtures/slow"] })
  identity = await makeIdentity()
  bindings = { ...identity.bindings, PUBLIC_URL }
  alice = await identity.token({ principal: "alice", audience: `${PUBLIC_URL}/mcp` })
}, 120_000)

afterAll(endAll)

interface Chosen {
  readonly data?: string
  readonly port?: number
  readonly flags?: readonly string[]
  readonly settings?: Readonly<Record<string, string>>
  readonly bundle?: Bundle
}

interface Server extends Command {
  readonly data: string
  readonly port: number
  /** This process and all under it. */
  family(): number[]
}

/** The command, for a bundle that is kept: its own is made when it is packed. */
async function serve(chosen: Chosen = {}): Promise<Server> {
  const place = newPlace()
  const { data = join(place.state, "data"), port = await freePort(), flags = [], settings = {} } = chosen
  const env = { ...bindings, NOT_ITS_OWN: "nobody's business", ...settings }
  const main = join(ROOT, "test/support/serve-bundle.ts")
  const names = JSON.stringify(Object.keys({ ...bindings, ...settings }))
  const args = [main, (chosen.bundle ?? bundle).folder, names, "--data", data, "--port", String(port), ...flags]
  const command = run(place, process.execPath, args, env)
  const pid = command.process.pid ?? 0
  return { ...command, data, port, family: () => [pid, ...descendants(pid)] }
}

async function started(chosen: Chosen = {}): Promise<Server> {
  const server = await serve(chosen)
  await server.prints(/ serves [\s\S]*healthz\n\n/)
  return server
}

async function endBy(signal: NodeJS.Signals, server: Server): Promise<Ended> {
  const family = server.family()
  expect(family.length).toBeGreaterThanOrEqual(3)
  server.process.kill(signal)
  const end = await server.ended
  await expect.poll(() => family.filter(isAlive), { timeout: 5_000 }).toEqual([])
  return end
}

async function refusal(chosen: Chosen): Promise<string> {
  const { code, output, errors } = await (await serve(chosen)).ended
  expect({ code, output }).toEqual({ code: 1, output: "" })
  expect(errors.trim().split("\n")).toHaveLength(1)
  return errors
}

function send({ port }: Server, leg: Partial<Call> & { readonly name: string }) {
  return call(`http://127.0.0.1:${port}/mcp`, { token: alice, method: "tools/call", ...leg })
}

/** Answers with the requestState that went back and forth. */
async function createDatabase(server: Server): Promise<string> {
  const leg = { name: "provision_database", arguments: { name: "orders" } }
  const { requestState = "" } = resultOf(await send(server, leg))
  const inputResponses = { region: { action: "accept", content: { region: "eu-west-1" } } }
  const { structuredContent } = resultOf(await send(server, { ...leg, inputResponses, requestState }))
  expect(structuredContent).toMatchObject({ status: "completed" })
  return requestState
}

async function databases(server: Server): Promise<unknown> {
  const listed = resultOf(await send(server, { name: "list_created", arguments: {} }))
  return listed.structuredContent?.["databases"]
}

/** The second leg of a call that takes a while. */
async function slowCall(server: Server, during: number) {
  const leg = { name: "slow", arguments: { name: `slow-${during}`, before: 0, during } }
  const { requestState = "" } = resultOf(await send(server, leg))
  const inputResponses = { approval: { action: "accept", content: { approved: true } } }
  return resultOf(await send(server, { ...leg, requestState, inputResponses }))
}

/** Listens as clients of 2026-07-28 do. */
async function listen(server: Server): Promise<EventStream> {
  const { headers, body } = encode({ token: alice, method: "subscriptions/listen", id: "listener" })
  const message = JSON.parse(body)
  message.params.notifications = { resourceSubscriptions: ["waxseal://created"] }
  return readEvents(await fetch(`${urlOf(server)}/mcp`, { method: "POST", headers, body: JSON.stringify(message) }))
}

/** Listens as clients of 2025-11-25 do. */
async function listenInSession(server: Server): Promise<EventStream> {
  const headers = { authorization: `Bearer ${alice}`, accept: "application/json, text/event-stream" }
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } }
  const begun = await fetch(`${urlOf(server)}/mcp`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params }),
  })
  await begun.text()
  const session = {
    "mcp-session-id": begun.headers.get("mcp-session-id") ?? "",
    "mcp-protocol-version": "2025-11-25",
  }
  return readEvents(await fetch(`${urlOf(server)}/mcp`, { headers: { ...headers, ...session } }))
}

function linesOf(server: Server, event: string): unknown[] {
  const lines = server.output().split("\n")
  return lines.filter((line) => line.startsWith(`{"event":"${event}"`)).map((line) => JSON.parse(line))
}

function urlOf({ port }: Server): string {
  return `http://127.0.0.1:${port}`
}

function filesUnder(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

function workerdIn(family: readonly number[]): number {
  const isRuntime = (pid: number) => readFileSync(`/proc/${pid}/stat`, "latin1").includes("(workerd)")
  return family.find(isRuntime) ?? 0
}

describe("waxseal serve", () => {
  it("serves behind a proxy, keeps its data through every end, and tells nothing", async () => {
    const first = await started()
    const { data, port } = first
    const state = await createDatabase(first)
    const made = await databases(first)
    expect(made).toMatchObject([{ name: "orders", region: "eu-west-1" }])
    const ended = [await endBy("SIGTERM", first)]

    const second = await started({ data, port })
    expect(await databases(second)).toEqual(made)
    await endBy("SIGKILL", second)

    const third = await started({ data, port })
    expect(await databases(third)).toEqual(made)
    ended.push(await endBy("SIGINT", third))

    expect(ended).toMatchObject([{ code: 0 }, { code: 0 }])
    const lines = ended.flatMap(({ output }) => output.split("\n").filter((line) => line !== ""))
    expect(lines.length).toBeGreaterThan(0)
    for (const line of lines) expect(JSON.parse(line)).toHaveProperty("event")
    expect(first.output()).toContain(`then see that it does: curl ${PUBLIC_URL}/healthz\n`)

    const files = filesUnder(data)
    for (const file of files) expect(statSync(file).mode & 0o077).toBe(0)
    expect(statSync(data).mode & 0o777).toBe(0o700)
    const stray = files.filter((file) => !file.includes("/objects/")).map((file) => readFileSync(file, "latin1"))
    const written = [first.output(), second.output(), third.output(), ...stray]
    const [sealKey = ""] = bindings["SEAL_KEYS"]?.match(/[\w-]{43}/) ?? []
    for (const hidden of [alice, state, sealKey, "eu-west-1"]) {
      expect(hidden).not.toBe("")
      for (const text of written) expect(text).not.toContain(hidden)
    }
  })

  it.skipIf(process.platform === "win32")(
    "keeps its records from others, and a folder that is theirs too",
    async () => {
      const [writable, readable] = [join(newPlace().state, "data"), join(newPlace().state, "data")]
      mkdirSync(join(readable, "objects"), { recursive: true })
      mkdirSync(writable, { recursive: true })
      for (const mode of [0o777, 0o770, 0o702]) {
        chmodSync(writable, mode)
        expect(await refusal({ data: writable })).toBe(
          `Others may write to ${writable}: chmod go-w ${writable}, or name a folder in it, which is made for you alone: --data ${writable}/data\n`,
        )
      }
      expect(readdirSync(writable)).toEqual([])
      for (const folder of [readable, join(readable, "objects")]) chmodSync(folder, 0o755)
      await endBy("SIGTERM", await started({ data: readable }))
      expect(statSync(join(readable, "objects")).mode & 0o777).toBe(0o700)
    },
  )

  it("is alone with its data and on its port", async () => {
    const server = await started()
    const refusals = await Promise.all([refusal({ data: server.data }), refusal({ port: server.port })])
    expect(refusals).toEqual([
      `Another server uses ${server.data}; stop it, or name another folder: --data DIR.\n`,
      `Port ${server.port} of 127.0.0.1 is taken; choose another: --port 9000.\n`,
    ])
    expect(await databases(server)).toEqual([])
    await endBy("SIGTERM", server)
  })

  it("lets a call under way end, takes no new one meanwhile, and is gone then", async () => {
    const server = await started({ bundle: slowly })
    const underWay = slowCall(server, 1_500)
    await sleep(300)
    server.process.kill("SIGTERM")
    await sleep(300)
    await expect(fetch(`http://127.0.0.1:${server.port}/healthz`)).rejects.toThrow()
    expect((await underWay).structuredContent).toMatchObject({ status: "completed" })
    expect(await server.ended).toMatchObject({ code: 0 })
  })

  it("ends the streams of those who listen for changes, in good order, when it is stopped", async () => {
    const server = await started()
    const [modern, earlier] = await Promise.all([listen(server), listenInSession(server)])
    await vi.waitFor(() => expect(modern.messages).toHaveLength(1))
    const askedAt = Date.now()
    server.process.kill("SIGTERM")
    expect(await server.ended).toMatchObject({ code: 0 })
    expect(Date.now() - askedAt).toBeLessThan(5_000)
    await Promise.all([modern.ended, earlier.ended])
    expect(modern.messages.at(-1)).toMatchObject({ id: "listener", result: { resultType: "complete" } })
  })

  it("cuts a call off at the second signal", async () => {
    const server = await started({ bundle: slowly })
    const cut = slowCall(server, 15_000).then(
      () => "answered",
      () => "cut",
    )
    await sleep(500)
    server.process.kill("SIGTERM")
    await sleep(800)
    expect(isAlive(server.process.pid ?? 0)).toBe(true)
    server.process.kill("SIGTERM")
    expect(await server.ended).toMatchObject({ code: 0 })
    expect(await cut).toBe("cut")
  })

  it("ends when stopped before it is ready", async () => {
    const server = await serve()
    await expect.poll(() => server.family().length, { interval: 10, timeout: 20_000 }).toBeGreaterThan(1)
    const family = server.family()
    server.process.kill("SIGTERM")
    expect(await server.ended).toEqual({ code: 0, output: "", errors: "" })
    await expect.poll(() => family.filter(isAlive), { timeout: 5_000 }).toEqual([])
  })

  it.skipIf(!ON_LINUX)("gives its runtime the settings alone, and ends with it, and says so", async () => {
    const server = await started()
    const runtime = workerdIn(server.family())
    const environment = readFileSync(`/proc/${runtime}/environ`, "latin1").split("\0").filter(Boolean)
    expect(environment.map((line) => line.split("=")[0]).sort()).toEqual(Object.keys(bindings).sort())
    const shown = readFileSync(`/proc/${runtime}/cmdline`, "latin1")
    for (const value of Object.values(bindings)) expect(shown).not.toContain(value)
    process.kill(runtime, "SIGKILL")
    const { code, errors } = await server.ended
    expect(code).toBe(1)
    expect(errors).toMatch(/\n\nThe runtime has ended by itself; see above, and start again\.\n$/)
  })

  it.skipIf(!ON_LINUX)("ends the runtime that a killed server left, and takes its data over", async () => {
    const first = await started()
    const family = first.family()
    const runtime = workerdIn(family)
    for (const pid of family.filter((pid) => pid !== runtime)) process.kill(pid, "SIGKILL")
    expect(isAlive(runtime)).toBe(true)
    const second = await started({ data: first.data, port: first.port })
    await expect.poll(() => family.filter(isAlive), { timeout: 5_000 }).toEqual([])
    await endBy("SIGTERM", second)
  })

  it.skipIf(!ON_LINUX)("leaves another folder's runtime alone whose number was once its own", async () => {
    const other = await started()
    const data = join(newPlace().state, "data")
    mkdirSync(data, { recursive: true, mode: 0o700 })
    writeFileSync(join(data, "group"), String(workerdIn(other.family())))
    const server = await started({ data })
    expect(await databases(other)).toEqual([])
    await endBy("SIGTERM", server)
    expect(readdirSync(data).sort()).toEqual(["lock.sqlite", "objects", "runtime.capnp"])
    await endBy("SIGTERM", other)
  })

  it("limits calls as the bundle says, for as long as it says", async () => {
    const limited = join(newPlace().state, "bundle")
    mkdirSync(limited, { recursive: true })
    cpSync(bundle.folder, limited, { recursive: true })
    writeManifest({ ...bundle, folder: limited, rateLimits: { MCP_RATE_LIMIT: { limit: 2, period: 1 } } })
    const server = await started({ bundle: readBundle(limited) ?? bundle })
    const list = async () => (await send(server, { name: "list_created", arguments: {} })).status
    const calls = await Promise.all([list(), list(), list(), list()])
    expect(calls.sort()).toEqual([200, 200, 429, 429])
    const line = { event: "rate_limited", name: "mcp", person: expect.stringMatching(/^[0-9a-f]{16}$/) }
    await vi.waitFor(() => expect(linesOf(server, "rate_limited")).toEqual([line, line]))
    await sleep(1_100)
    expect(await list()).toBe(200)
    await endBy("SIGTERM", server)
  })

  it("names the flag that is wrong where it cannot listen", () => {
    const flags = ["EADDRINUSE", "EACCES", "EADDRNOTAVAIL", "EAFNOSUPPORT", "EINVAL"].map((trouble) =>
      portProblem(trouble, "192.0.2.1", 80).match(/--\w+/g),
    )
    expect(flags).toEqual([["--port"], ["--port"], ["--host"], ["--host"], ["--host"]])
  })

  it("refuses in one sentence what is wrong or for development", { timeout: 120_000 }, async () => {
    const notLocking = join(newPlace().state, "data")
    mkdirSync(join(notLocking, "lock.sqlite"), { recursive: true })
    const notNaming = join(newPlace().state, "data")
    mkdirSync(join(notNaming, "group"), { recursive: true })
    const cases: readonly (readonly [Chosen, string | RegExp])[] = [
      [
        { settings: { SEAL_KEYS: "" } },
        /^SEAL_KEYS: is required and has no default; make a ring by waxseal keygen --out /,
      ],
      [{ settings: { SEAL_KEYS: "[]" } }, "SEAL_KEYS: it holds no key.\n"],
      [
        { settings: { SEAL_KEYS: DEVELOPMENT_RING, PUBLIC_URL: "" } },
        "SEAL_KEYS: contains a key for local development; set a ring of fresh random keys.\n",
      ],
      [
        { settings: { AUTH_MODE: "none", PUBLIC_URL: "" } },
        "AUTH_MODE: none is for local development; remove it and configure an issuer.\n",
      ],
      [{ settings: { AUTH_ISSUER: "" } }, /^AUTH_ISSUER: is required; /],
      [{ settings: { JURISDICTIONS: '{"acme":"eu"}' } }, /^JURISDICTIONS: cannot be kept on one machine; /],
      [
        { settings: { PUBLIC_URL: "" }, flags: ["--host", "0.0.0.0"] },
        "PUBLIC_URL: is required on hosts other than localhost; set the origin that clients use.\n",
      ],
      [{ flags: ["--host", "localhost"] }, /^--host must be an IP address of this machine without a zone, /],
      [{ flags: ["--host", "fe80::1%lo"] }, /^--host must be an IP address of this machine without a zone, /],
      [
        { flags: ["--host", "192.0.2.1"] },
        /^192\.0\.2\.1 is no address of this machine \(EADDRNOTAVAIL\); .*: --host /,
      ],
      [{ flags: ["--port", "0"] }, "The port must be a whole number from 1 to 65535.\n"],
      [{ flags: ["--prot", "1"] }, /^Unknown option '--prot'; use: waxseal serve --data DIR /],
      [{ data: "" }, /^--data is required: .*; use: waxseal serve /],
      [
        { data: join(import.meta.filename, "data") },
        /^The folder .*serve\.test\.ts\/data cannot be used: a file stands there, or on the way there; name another folder: /,
      ],
      [
        { data: "/dev/null" },
        "The folder /dev/null cannot be used: a file stands there, or on the way there; name another folder: --data DIR.\n",
      ],
      [{ data: import.meta.filename }, /^The folder .*serve\.test\.ts cannot be used: a file stands there, /],
      [{ data: notLocking }, /^The folder .* cannot be used: its file lock\.sqlite is no lock or cannot be written; /],
      [{ data: notNaming }, /^The file .*data\/group cannot be used \(EISDIR\); take it away and start again\.\n$/],
    ]
    const refusals = await Promise.all(cases.map(([chosen]) => refusal(chosen)))
    expect(refusals).toEqual(cases.map(([, sentence]) => expect.stringMatching(sentence)))
  })
})
