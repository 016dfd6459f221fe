import { execFile } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { createServer, type RequestListener } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { z } from "zod"
import { type Bound, checkBindings } from "../../scripts/deploy/bindings.ts"
import { checkConfig, checkVars } from "../../scripts/deploy/checks.ts"
import { readConfig } from "../../scripts/deploy/config.ts"
import { checkReach } from "../../scripts/deploy/reach.ts"
import { checkSecrets } from "../../scripts/deploy/secrets.ts"
import { smoke } from "../../scripts/deploy/smoke.ts"
import { targetOf } from "../../scripts/deploy/target.ts"
import { ROOT } from "../support/bundle.ts"
import { makeIdentity } from "../support/identity.ts"
import { freePort } from "../support/port.ts"
import { type Running, startWorker } from "../support/workerd.ts"

const VARS = {
  PUBLIC_URL: "https://waxseal.example.com",
  AUTH_ISSUER: "https://id.example.com/",
  AUTH_JWKS_URL: "https://id.example.com/.well-known/jwks.json",
}

/** What the Worker needs bound, and where it is reached, as wrangler.json has it. */
const BOUND = {
  durable_objects: {
    bindings: [
      { name: "LEDGER", class_name: "Ledger" },
      { name: "REGISTRY", class_name: "Registry" },
      { name: "CHANGES", class_name: "Changes" },
      { name: "SESSIONS", class_name: "Session" },
      { name: "SESSION_LISTS", class_name: "SessionList" },
    ],
  },
  ratelimits: ["MCP_RATE_LIMIT", "API_RATE_LIMIT"].map((name, at) => ({
    name,
    namespace_id: `${at + 1}`,
    simple: { limit: 9, period: 10 },
  })),
  routes: ["waxseal.example.com/*"],
}

const ACCOUNTS = [
  { id: "a".repeat(32), name: "One" },
  { id: "b".repeat(32), name: "Two" },
] as const

/** What Cloudflare answers to somebody who may use two accounts, and has no secret in the first. */
const CLOUDFLARE: Readonly<Record<string, unknown>> = {
  "/user/tokens/verify": { id: "t", status: "active" },
  "/user": { id: "u", email: "operator@example.com" },
  "/accounts": ACCOUNTS,
  "/memberships": ACCOUNTS.map((account) => ({ id: account.id, account, roles: [] })),
  [`/accounts/${ACCOUNTS[0].id}/workers/scripts/x/secrets`]: [],
}

const Address = z.object({ port: z.number() })

let folder: string
let bindings: Readonly<Record<string, string>>
const running: Running[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "waxseal-"))
  bindings = (await makeIdentity()).bindings
})

afterAll(async () => {
  await Promise.all(running.map((worker) => worker.kill()))
  await rm(folder, { recursive: true, force: true })
})

/** The Worker itself, and where it can be looked at. */
async function deployed(settings: Readonly<Record<string, string>> = {}): Promise<string> {
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const storage = join(folder, String(port))
  running.push(await startWorker({ bindings: { ...bindings, PUBLIC_URL: origin, ...settings }, storage, port }))
  return origin
}

/** Some server that is none of ours. */
async function somebody(answer: RequestListener): Promise<{ origin: string; leave(): void }> {
  const server = createServer(answer).listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = Address.parse(server.address())
  return { origin: `http://127.0.0.1:${port}`, leave: () => void server.close() }
}

interface Ended {
  readonly code: number
  readonly output: string
  readonly errors: string
}

/** A script, as a person with no account runs it. */
function run(script: string, ...args: readonly string[]): Promise<Ended> {
  return runWith({}, script, ...args)
}

function runWith(more: Readonly<Record<string, string>>, script: string, ...args: readonly string[]): Promise<Ended> {
  const env = { ...more, PATH: process.env["PATH"], HOME: folder, WRANGLER_SEND_METRICS: "false", NO_COLOR: "1" }
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [join(ROOT, script), ...args], { env }, (_error, output, errors) =>
      resolve({ code: child.exitCode ?? -1, output, errors }),
    )
  })
}

describe("looking from outside", () => {
  it("finds nothing wrong with the Worker, and says what was looked at", async () => {
    const origin = await deployed()
    const findings = await smoke(origin, 0)
    expect(findings.filter(({ wrong }) => wrong !== undefined)).toEqual([])
    const { code, output, errors } = await run("scripts/smoke.ts", origin)
    expect({ code, errors }).toEqual({ code: 0, errors: "" })
    expect(output.match(/^ok {4}/gm)).toHaveLength(findings.length)
  })

  it("notices a Worker that is known by another name", async () => {
    const findings = await smoke(await deployed({ PUBLIC_URL: "http://localhost:1" }), 0)
    expect(wrongs(findings)).toEqual({
      "/mcp says whom it trusts": "calls itself by another name; is PUBLIC_URL this origin?",
      "/v1 says whom it trusts": "calls itself by another name; is PUBLIC_URL this origin?",
      "/mcp asks a stranger for an access token": "does not say where its metadata is",
    })
  })

  it("notices a Worker that is misconfigured, and exits 1", async () => {
    const origin = await deployed({ SEAL_KEYS: "[]" })
    const { code, output, errors } = await run("scripts/smoke.ts", origin)
    expect(code).toBe(1)
    expect(output.match(/^WRONG .*answers 503/gm)?.length).toBeGreaterThanOrEqual(4)
    expect(errors).toBe(`5 of 5 looks at ${origin} found something wrong; see above.\n`)
  })

  it("tells a deployment from another of the same version", async () => {
    const origin = await deployed({ WAXSEAL_DEPLOYMENT: "this one" })
    expect(wrongs(await smoke(origin, 0, "this one"))).toEqual({})
    expect(wrongs(await smoke(origin, 0))).toEqual({})
    const sentence = expect.stringMatching(/^answers as another deployment of this version; /)
    for (const other of [origin, await deployed()]) {
      expect(wrongs(await smoke(other, 0, "the next"))).toEqual({ "/healthz says that this version is up": sentence })
    }
  })

  it("notices somebody else, another version, and nobody", async () => {
    const page = await somebody((_request, response) => response.end("<html>It works!</html>"))
    expect(Object.keys(wrongs(await smoke(page.origin, 0)))).toHaveLength(5)
    page.leave()
    const older = await somebody((_request, response) => response.end('{"status":"ok","version":"0.0.1"}'))
    expect(wrongs(await smoke(older.origin, 0))).toMatchObject({
      "/healthz says that this version is up": expect.stringMatching(/^answers as version 0\.0\.1, not /),
    })
    older.leave()
    expect(new Set(Object.values(wrongs(await smoke(`http://127.0.0.1:${await freePort()}`, 0))))).toEqual(
      new Set(["does not answer"]),
    )
  })
})

function wrongs(findings: Awaited<ReturnType<typeof smoke>>): Record<string, string> {
  return Object.fromEntries(findings.flatMap(({ what, wrong }) => (wrong === undefined ? [] : [[what, wrong]])))
}

describe("before anything is deployed", () => {
  it("settings that do are read", () => {
    expect(checkVars(VARS, targetOf())).toEqual({ origin: VARS.PUBLIC_URL, issuer: VARS.AUTH_ISSUER })
  })

  it.each([
    ["no PUBLIC_URL", { PUBLIC_URL: undefined }, /^wrangler\.toml, \[vars\]: PUBLIC_URL: is required/],
    ["no issuer", { AUTH_ISSUER: undefined }, /^wrangler\.toml, \[vars\]: AUTH_ISSUER: /],
    [
      "no authentication",
      { AUTH_ISSUER: undefined, AUTH_JWKS_URL: undefined, AUTH_MODE: "none" },
      /AUTH_MODE: none is/,
    ],
    ["a wrong number", { LEDGER_SHARDS: "many" }, /LEDGER_SHARDS: /],
  ])("%s is named", (_, changes, sentence) => {
    const vars = Object.fromEntries(Object.entries({ ...VARS, ...changes }).filter(([, value]) => value !== undefined))
    expect(() => checkVars(vars, targetOf())).toThrow(sentence)
  })

  it("the project's own configuration is not enough", async () => {
    const config = await readConfig(targetOf())
    expect(() => checkConfig(config, targetOf())).toThrow(/^wrangler\.toml, \[vars\]: AUTH_ISSUER: .*$/)
  })

  it("missing secrets are named, with what makes them, keeps them, and sets them on this very Worker", () => {
    const make = "npm run -s waxseal -- keygen --out ring.json, keep that file in a vault"
    expect(() => checkSecrets(["SEAL_KEYS"], ["LLM_API_KEY"], targetOf())).toThrow(
      `The Worker has no secret SEAL_KEYS; make a ring by ${make}, and set it by: npx wrangler secret put SEAL_KEYS < ring.json`,
    )
    expect(() => checkSecrets(["SEAL_KEYS"], [], targetOf("eu.toml", "staging"))).toThrow(
      "set it by: npx wrangler secret put SEAL_KEYS --config eu.toml --env staging < ring.json",
    )
    expect(() => checkSecrets(["LLM_API_KEY"], [], targetOf(undefined, "staging"))).toThrow(
      "The Worker has no secret LLM_API_KEY; set its value by: npx wrangler secret put LLM_API_KEY --env staging",
    )
    expect(() => checkSecrets(["SEAL_KEYS"], ["SEAL_KEYS"], targetOf())).not.toThrow()
  })

  it("needs its objects and limits bound, in an environment too, and says what to write", async () => {
    const { bound } = await readConfig(targetOf())
    expect(checkBindings(bound, targetOf())).toEqual([])
    for (const [name, sentence] of [
      [
        "LEDGER",
        /^wrangler\.toml, \[\[durable_objects\.bindings\]\]: LEDGER is not bound; write name = "LEDGER", class_name/,
      ],
      ["REGISTRY", /REGISTRY is not bound; write name = "REGISTRY", class_name = "Registry"\.$/],
      [
        "MCP_RATE_LIMIT",
        /^wrangler\.toml, \[\[ratelimits\]\]: MCP_RATE_LIMIT is not bound; .* limit = 1_000, period = 10 }\.$/,
      ],
      ["API_RATE_LIMIT", /API_RATE_LIMIT is not bound; .* limit = 10_000, period = 10 }\.$/],
      ["SESSIONS", /SESSIONS is not bound; .*; SESSIONS and SESSION_LISTS go together, or not at all\.$/],
      ["SESSION_LISTS", /SESSION_LISTS is not bound; .* go together, or not at all\.$/],
    ] as const) {
      expect(() => checkBindings(without(bound, name), targetOf())).toThrow(sentence)
    }
    expect(() => checkBindings([], targetOf(undefined, "staging"))).toThrow(
      /^wrangler\.toml, \[\[env\.staging\.durable_objects\.bindings\]\]: LEDGER is not bound, and an environment inherits none; /,
    )
  })

  it.each([
    ["REGISTRY", "Ledger", /: REGISTRY is bound to Ledger; write name = "REGISTRY", class_name = "Registry"\.$/],
    ["CHANGES", "Ledger", /: CHANGES is bound to Ledger; write name = "CHANGES", class_name = "Changes"\.$/],
  ])("needs %s bound to its own class, not to %s", async (name, className, sentence) => {
    const { bound } = await readConfig(targetOf())
    expect(() => checkBindings([...without(bound, name), { name, className }], targetOf())).toThrow(sentence)
  })

  it("may go without sessions and without changes, and says so", async () => {
    const { bound } = await readConfig(targetOf())
    expect(checkBindings(without(bound, "SESSIONS", "SESSION_LISTS", "CHANGES"), targetOf())).toEqual([
      "SESSIONS and SESSION_LISTS are not bound: clients of 2025-11-25 are asked nothing.",
      "CHANGES is not bound: nobody can listen to changes.",
    ])
  })
})

function without(bound: readonly Bound[], ...left: readonly string[]): Bound[] {
  return bound.filter(({ name }) => !left.includes(name))
}

describe("the address", () => {
  const top = targetOf()
  const nowhere = { name: "waxseal", routes: [], inheritsRoutes: false, workersDev: false }
  const route = (pattern: string, isDomain = false) => ({ ...nowhere, routes: [{ pattern, isDomain }] })
  const at = (host: string) => (path: string) => ({ pattern: `${host}${path}`, isDomain: false })

  it.each([
    ["a custom domain", route("waxseal.example.com", true)],
    ["a route", route("waxseal.example.com/*")],
    ["a route with a scheme", route("https://waxseal.example.com/*")],
    ["a route of every name", route("*.example.com/*")],
    [
      "a route of each part",
      { ...nowhere, routes: ["/mcp*", "/v1/*", "/healthz", "/.well-known/*"].map(at("waxseal.example.com")) },
    ],
  ])("is one that %s leads from", (_, config) => {
    expect(() => checkReach(config, "https://waxseal.example.com", top)).not.toThrow()
  })

  it.each([
    ["nothing", nowhere],
    ["another custom domain", route("example.com", true)],
    ["a custom domain that only looks like it", route("waxseal-example.com", true)],
    ["a route to one page", route("waxseal.example.com")],
    ["a route of another name", route("waxsealXexample.com/*")],
    ["a route without TLS", route("http://waxseal.example.com/*")],
    ["the platform's own name", { ...nowhere, workersDev: true }],
  ])("is not one that %s leads from", (_, config) => {
    expect(() => checkReach(config, "https://waxseal.example.com", top)).toThrow(
      'wrangler.toml, at its top: no client of waxseal.example.com, which PUBLIC_URL names, comes to /mcp of this Worker; write routes = [{ pattern = "waxseal.example.com", custom_domain = true }] there.',
    )
  })

  it.each([
    ["/v1/seal", ["/mcp*"]],
    ["/healthz", ["/mcp*", "/v1/*", "/.well-known/*"]],
    ["/.well-known/oauth-protected-resource/mcp", ["/mcp*", "/v1/*", "/healthz"]],
  ])("is not one whose routes leave out %s", (path, paths) => {
    const config = { ...nowhere, routes: paths.map(at("waxseal.example.com")) }
    expect(() => checkReach(config, "https://waxseal.example.com", top)).toThrow(` comes to ${path} of this Worker; `)
  })

  it("on workers.dev is the Worker's own, where that is switched on", () => {
    const own = "https://waxseal.acme.workers.dev"
    expect(() => checkReach({ ...nowhere, workersDev: true }, own, top)).not.toThrow()
    const sentence = /write workers_dev = true there, and PUBLIC_URL = "https:\/\/waxseal\.SUBDOMAIN\.workers\.dev"\.$/
    expect(() => checkReach(nowhere, own, top)).toThrow(sentence)
    for (const host of ["other.acme.workers.dev", "waxseal.workers.dev", "x.waxseal.acme.workers.dev"]) {
      expect(() => checkReach({ ...nowhere, workersDev: true }, `https://${host}`, top)).toThrow(sentence)
    }
  })
})

describe("an environment", () => {
  const vars = `[env.staging.vars]
PUBLIC_URL = "https://staging.example.com"
AUTH_ISSUER = "https://id.example.com/"
AUTH_JWKS_URL = "https://id.example.com/.well-known/jwks.json"
`
  const routes = '[env.staging]\nroutes = [{ pattern = "staging.example.com", custom_domain = true }]\n'
  const objects = [object("LEDGER", "Ledger"), object("REGISTRY", "Registry")].join("")
  const limits = [limit("MCP_RATE_LIMIT", 2001), limit("API_RATE_LIMIT", 2002)].join("")

  function object(name: string, kind: string): string {
    return `[[env.staging.durable_objects.bindings]]\nname = "${name}"\nclass_name = "${kind}"\n`
  }

  function limit(name: string, id: number): string {
    return `[[env.staging.ratelimits]]\nname = "${name}"\nnamespace_id = "${id}"\nsimple = { limit = 9, period = 10 }\n`
  }

  /** The project's own file, with a domain at its top and these tables at its end. */
  async function fileWith(tables: string): Promise<string> {
    const file = join(await mkdtemp(join(folder, "env-")), "wrangler.toml")
    const own = await readFile(join(ROOT, "wrangler.toml"), "utf8")
    const domain = 'workers_dev = false\nroutes = [{ pattern = "waxseal.example.com", custom_domain = true }]'
    const top = own.replace("workers_dev = true", domain).replace("src/index.ts", join(ROOT, "src/index.ts"))
    await writeFile(file, `${top}\n${tables}`)
    return file
  }

  it.each([
    ["staging", "", /^\S+ has no environment staging; write \[env\.staging\] with all it needs, or name none\.$/],
    ["stagging", vars, /^\S+ has no environment stagging; .*, or name one that is there: staging\.$/],
    ["staging", "[env.staging]\n", /^\S+, \[env\.staging\.vars\]: AUTH_ISSUER: .*$/],
    [
      "staging",
      vars,
      /^\S+, \[env\.staging\]: this environment inherits .* take waxseal\.example\.com from that Worker; .*$/,
    ],
    [
      "staging",
      `[env.staging]\nroutes = []\n${vars}`,
      /^\S+, \[env\.staging\]: no client of staging\.example\.com, .*$/,
    ],
    ["staging", `${routes}${vars}`, /^\S+, \[\[env\.staging\.durable_objects\.bindings\]\]: LEDGER is not bound, .*$/],
    [
      "staging",
      `${routes}${vars}${objects}`,
      /^\S+, \[\[env\.staging\.ratelimits\]\]: MCP_RATE_LIMIT is not bound, .*$/,
    ],
  ])(
    "%s is held to its own tables, and a sentence names the first that is wrong (%#)",
    async (env, tables, sentence) => {
      const target = targetOf(await fileWith(tables), env)
      await expect(readConfig(target).then((config) => checkConfig(config, target))).rejects.toThrow(sentence)
    },
  )

  it.each([
    [
      "LLM_API_KEY",
      "vars",
      undefined,
      /LLM_API_KEY is a secret; .*: npx wrangler secret put LLM_API_KEY --config \S+$/,
    ],
    [
      "LLM_API_KEY",
      "env.staging.vars",
      "staging",
      /LLM_API_KEY is a secret; .*: npx wrangler secret put LLM_API_KEY --config \S+ --env staging$/,
    ],
    [
      "SEAL_KEYS",
      "vars",
      "staging",
      /SEAL_KEYS is a secret; .*: npx wrangler secret put SEAL_KEYS --config \S+ < \S+$/,
    ],
  ])("and the top are refused with %s among [%s] (%#)", async (name, table, env, sentence) => {
    const target = targetOf(await fileWith(`[env.staging]\n[${table}]\n${name} = "hunter2"\n`), env)
    const refused = readConfig(target)
    await expect(refused).rejects.toThrow(`${target.file}, [${table}]: `)
    await expect(refused).rejects.toThrow(sentence)
    await expect(refused).rejects.not.toThrow("hunter2")
  })

  it("that has all it needs is what a dry run makes, and what comes next", { timeout: 60_000 }, async () => {
    const config = await fileWith(`${routes}${vars}${objects}${limits}`)
    const { code, output } = await run("scripts/deploy.ts", "--dry-run", "--config", config, "--env", "staging")
    expect(code).toBe(0)
    expect(output).toMatch(/^note {2}SESSIONS and SESSION_LISTS are not bound: .*\nnote {2}CHANGES is not bound: /)
    expect(output).toMatch(/env\.PUBLIC_URL \("https:\/\/staging\.example\.com"\)/)
    expect(output).toMatch(/^env\.WAXSEAL_DEPLOYMENT \(/m)
    expect(output).toContain(`no secret was looked for. Next: npm run deploy -- --config ${config} --env staging\n`)
  })
})

describe("npm run deploy", () => {
  it("a ring among the settings is refused in one sentence, which does not show it", async () => {
    const config = join(await mkdtemp(join(folder, "secret-")), "wrangler.toml")
    const own = await readFile(join(ROOT, "wrangler.toml"), "utf8")
    await writeFile(config, `${own}\n[vars]\nSEAL_KEYS = "hunter2"\n`)
    const { code, output, errors } = await run("scripts/deploy.ts", "--dry-run", "--config", config)
    expect({ code, output }).toEqual({ code: 1, output: "" })
    expect(errors).toMatch(
      /^\S+, \[vars\]: SEAL_KEYS is a secret; take it out, never use it again, and make a ring by .*\n$/,
    )
    expect(errors).not.toContain("hunter2")
  })

  it("without an account one sentence says how to get in", async () => {
    const config = join(folder, "wrangler.json")
    await writeFile(config, JSON.stringify({ name: "x", compatibility_date: "2026-11-01", ...BOUND, vars: VARS }))
    expect(await run("scripts/deploy.ts", "--config", config)).toEqual({
      code: 1,
      output: "",
      errors:
        "There is no Cloudflare account to deploy to; log in by npx wrangler login, or set CLOUDFLARE_API_TOKEN.\n",
    })
  })

  it("lists the secrets of the account that is chosen, and asks for one where there are several", {
    timeout: 120_000,
  }, async () => {
    const cloudflare = await somebody((request, response) => {
      const { pathname } = new URL(request.url ?? "/", "http://localhost")
      const result = CLOUDFLARE[pathname]
      response.writeHead(result === undefined ? 404 : 200, { "content-type": "application/json" })
      response.end(JSON.stringify({ success: result !== undefined, errors: [], messages: [], result }))
    })
    const config = join(await mkdtemp(join(folder, "accounts-")), "wrangler.json")
    await writeFile(config, JSON.stringify({ name: "x", compatibility_date: "2026-11-01", ...BOUND, vars: VARS }))
    const env = { CLOUDFLARE_API_BASE_URL: cloudflare.origin, CLOUDFLARE_API_TOKEN: "token" }
    const [several, chosen] = await Promise.all([
      runWith(env, "scripts/deploy.ts", "--config", config),
      runWith({ ...env, CLOUDFLARE_ACCOUNT_ID: ACCOUNTS[0].id }, "scripts/deploy.ts", "--config", config),
    ])
    expect(several).toEqual({
      code: 1,
      output: "",
      errors: `Several Cloudflare accounts can be reached; write account_id = "…" at the top of ${config}, or set CLOUDFLARE_ACCOUNT_ID, with an id that npx wrangler whoami lists.\n`,
    })
    expect(chosen).toMatchObject({ code: 1, output: "" })
    expect(chosen.errors).toMatch(/^The Worker has no secret SEAL_KEYS; .* put SEAL_KEYS --config \S+ < ring\.json\n$/)
    cloudflare.leave()
  })
})
