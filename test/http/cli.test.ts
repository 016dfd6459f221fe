import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { z } from "zod"
import type { Principal, TenantId } from "../../src/brands.ts"
import { type Binding, createSealer, digestArguments, listKeys, parseKeyRing } from "../../src/seal/index.ts"
import { ROOT } from "../support/bundle.ts"

const DAY = 86_400_000

let folder: string
let files = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "waxseal-cli-"))
})

afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

interface Ended {
  readonly code: unknown
  readonly out: string
  readonly error: string
}

/** Runs the command as its own process. */
async function waxseal(args: readonly string[], input = ""): Promise<Ended> {
  const env = { ...process.env, NODE_COMPILE_CACHE: join(folder, "compiled") }
  const child = spawn(process.execPath, [join(ROOT, "src/cli/main.ts"), ...args], { env })
  child.stdin.end(input)
  const [out, error, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")])
  return { code, out, error }
}

const Entries = z.array(
  z.strictObject({
    key: z.string(),
    suite: z.number().optional(),
    sealsFrom: z.string(),
    sealsUntil: z.string().optional(),
  }),
)

type Entry = z.infer<typeof Entries>[number]

function key(sealedFrom: number, sealsUntil?: number): Entry {
  return {
    key: Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url"),
    sealsFrom: new Date(Date.now() + sealedFrom).toISOString(),
    ...(sealsUntil !== undefined && { sealsUntil: new Date(Date.now() + sealsUntil).toISOString() }),
  }
}

async function ringFile(...entries: readonly Entry[]): Promise<string> {
  const file = join(folder, `ring-${files++}.json`)
  await writeFile(file, JSON.stringify(entries))
  return file
}

async function entriesOf(file: string): Promise<Entry[]> {
  return Entries.parse(JSON.parse(await readFile(file, "utf8")))
}

function ringOf(entries: readonly Entry[]) {
  const parsed = parseKeyRing(JSON.stringify(entries))
  if (!parsed.ok) throw new Error(parsed.problem)
  return parsed.ring
}

function idOf(entry: Entry): string {
  return listKeys(ringOf([entry]), Date.now())[0]?.keyId ?? ""
}

/** The command refused in one sentence, told no secret, and left the file as it was. */
async function expectRefusal(args: readonly string[], file: string, words: RegExp): Promise<void> {
  const before = await readFile(file, "utf8")
  const { code, out, error } = await waxseal(args)
  expect({ code, out }).toEqual({ code: 1, out: "" })
  expect(error).toMatch(words)
  expect(error.trim().split("\n")).toHaveLength(1)
  for (const secret of before.match(/[\w-]{43}/g) ?? []) expect(error).not.toContain(secret)
  expect(await readFile(file, "utf8")).toBe(before)
}

describe("waxseal keygen", () => {
  it("prints a ring that seals at once, with another key each time", async () => {
    const rings = await Promise.all([waxseal(["keygen"]), waxseal(["keygen", "--suite", "2"])])
    const [one, other] = rings.map(({ out }) => Entries.parse(JSON.parse(out)))
    expect(listKeys(ringOf(one ?? []), Date.now())).toMatchObject([{ suite: 1, state: "sealing" }])
    expect(listKeys(ringOf(other ?? []), Date.now())).toMatchObject([{ suite: 2, state: "sealing" }])
    expect(one?.[0]?.key).not.toBe(other?.[0]?.key)
  })

  it("makes a file for its owner alone, prints nothing, and never replaces one", async () => {
    const file = join(folder, "new.json")
    expect(await waxseal(["keygen", "--out", file])).toEqual({ code: 0, out: "", error: "" })
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await entriesOf(file)).toHaveLength(1)
    await expectRefusal(["keygen", "--out", file], file, /new\.json exists; name another file/)
  })
})

describe("waxseal keys", () => {
  it("rotate adds a key that seals an hour later, behind the others, and leaves nothing else in the folder", async () => {
    const [older, newer] = [key(-2 * DAY), key(-DAY)]
    const file = await ringFile(newer, older)
    const { code, out } = await waxseal(["keys", "rotate", file])
    const [first, second, added, ...more] = await entriesOf(file)
    expect([first, second, more, code]).toEqual([newer, older, [], 0])
    expect(Date.parse(added?.sealsFrom ?? "") - Date.now()).toBeGreaterThan(3_590_000)
    expect(Date.parse(added?.sealsFrom ?? "") - Date.now()).toBeLessThanOrEqual(3_600_000)
    expect(out).not.toContain(added?.key)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await readdir(folder)).filter((name) => /json\./.test(name))).toEqual([])
  })

  it("edits that race lose nothing: each is made, or says that another is under way", async () => {
    const file = await ringFile(key(-DAY))
    const edits = await Promise.all(
      [60, 120, 180, 240].map((wait) => waxseal(["keys", "rotate", file, "--in", `${wait}`])),
    )
    const made = edits.filter(({ code }) => code === 0)
    expect(await entriesOf(file)).toHaveLength(1 + made.length)
    for (const { code, error } of edits) if (code !== 0) expect(error).toMatch(/is being edited by another command/)
  })

  it("an edit that is under way is waited for by nobody, and one that was killed is said how to clear", async () => {
    const file = await ringFile(key(-DAY))
    await writeFile(`${file}.lock`, "")
    await expectRefusal(["keys", "rotate", file], file, /try again, and if none runs, remove .*\.lock\.\n$/)
    await rm(`${file}.lock`)
    expect(await waxseal(["keys", "rotate", file])).toMatchObject({ code: 0 })
  })

  it("rotate --in 0 adds one that seals now", async () => {
    const file = await ringFile(key(-DAY))
    await waxseal(["keys", "rotate", file, "--in", "0", "--suite", "2"])
    const listed = listKeys(ringOf(await entriesOf(file)), Date.now())
    expect(listed).toMatchObject([{ state: "opening" }, { state: "sealing", suite: 2 }])
  })

  it("rotate refuses to leave a time in which no key seals", async () => {
    const file = await ringFile(key(-DAY, 1_800_000))
    await expectRefusal(["keys", "rotate", file], file, /No key would seal until the new one begins/)
    expect(await waxseal(["keys", "rotate", file, "--in", "60"])).toMatchObject({ code: 0 })
  })

  it("list shows every key and no secret", async () => {
    const entries = [key(-DAY), key(DAY), key(-2 * DAY)]
    const { out } = await waxseal(["keys", "list", await ringFile(...entries)])
    const lines = out.trim().split("\n")
    expect(lines.map((line) => line.slice(0, 8))).toEqual(entries.map(idOf))
    expect(lines.map((line) => line.match(/sealing|upcoming|opening/)?.[0])).toEqual(["sealing", "upcoming", "opening"])
    for (const { key } of entries) expect(out).not.toContain(key)
  })

  it("retire removes a key 30 days after it stopped sealing, and not a minute before", async () => {
    const [done, needed, current] = [key(-99 * DAY), key(-30 * DAY - 60_000), key(60_000 - 30 * DAY)]
    const file = await ringFile(current, done, needed)
    await expectRefusal(["keys", "retire", file, idOf(needed)], file, /is needed until/)
    await expectRefusal(["keys", "retire", file, idOf(current)], file, /has not stopped sealing; rotate first/)
    expect(await waxseal(["keys", "retire", file, idOf(done)])).toMatchObject({ code: 0, error: "" })
    expect(await entriesOf(file)).toEqual([current, needed])
  })

  it("revoke removes a key at once, but not the last that seals", async () => {
    const [older, current] = [key(-DAY), key(-1_000)]
    const file = await ringFile(older, current)
    await expectRefusal(["keys", "revoke", file, idOf(current)], file, /Nothing would seal without .* --in 0$/m)
    await waxseal(["keys", "rotate", file, "--in", "0"])
    expect(await waxseal(["keys", "revoke", file, idOf(current)])).toMatchObject({ code: 0, error: "" })
    const kept = await entriesOf(file)
    expect(kept.map(({ key }) => key)).not.toContain(current.key)
    // It stopped when the revoked key began, and does not begin again.
    expect(kept[0]).toEqual({ ...older, sealsUntil: current.sealsFrom })
    await expectRefusal(["keys", "revoke", file, idOf(current)], file, /holds no key with this id/)
  })

  it("revoke of a key that has not begun leaves the one before it as it was", async () => {
    const [current, upcoming] = [key(-DAY), key(3_000_000)]
    const file = await ringFile(current, upcoming)
    await waxseal(["keys", "revoke", file, idOf(upcoming)])
    expect(await entriesOf(file)).toEqual([current])
  })

  it("edits the file that a link points to", async () => {
    const file = await ringFile(key(-DAY))
    const link = join(folder, "link.json")
    await symlink(file, link)
    await waxseal(["keys", "rotate", link])
    expect(await entriesOf(file)).toHaveLength(2)
  })

  it("refuses in one sentence what it cannot do", async () => {
    const file = await ringFile(key(-DAY))
    const broken = await ringFile({ ...key(-DAY), key: "c2hvcnQ" })
    await Promise.all([
      expectRefusal(["keys", "list", broken], broken, /is not a key ring: entry 1: key has 5 bytes/),
      expectRefusal(["keys", "rotate", file, "--in", "-5"], file, /--in/),
      expectRefusal(["keys", "rotate", file, "--in", "1.5"], file, /--in must be a whole number/),
      expectRefusal(["keys", "rotate", file, "--suite", "3"], file, /--suite must be 1/),
      expectRefusal(["keys", "rotate", file, "--when", "now"], file, /Unknown option '--when'; use: waxseal keys/),
      expectRefusal(["keys", "retire", file], file, /Wrong number of arguments; use: waxseal keys retire FILE/),
      expectRefusal(["keys", "burn", file], file, /Choose one of keygen/),
      expectRefusal(["keys", "list", join(folder, "none.json")], file, /none\.json cannot be read \(ENOENT\)/),
      expectRefusal([], file, /see: waxseal --help/),
    ])
  })

  it("says when a file cannot be written", async () => {
    const { code, error } = await waxseal(["keygen", "--out", join(folder, "none", "ring.json")])
    expect(code).toBe(1)
    expect(error).toMatch(/none\/ring\.json cannot be written \(ENOENT\)\.\n$/)
  })

  it("explains itself", async () => {
    const { code, out } = await waxseal(["--help"])
    expect(code).toBe(0)
    for (const word of ["keygen", "keys rotate", "keys retire", "--principal", "claim:NAME"])
      expect(out).toContain(word)
  })
})

describe("waxseal inspect", () => {
  const sent = { name: "orders", account: "acme" }
  const flags = [
    ["--tenant", "claim:acme"],
    ["--principal", '["https://issuer.example","alice",null]'],
    ["--audience", "https://mcp.example/mcp"],
    ["--target", "create_project"],
    // Not as it was sent: order and spelling do not matter.
    ["--arguments", '{"account":"acme", "name":"\\u006frders"}'],
  ].flat()
  const state = { phase: "awaiting_approval" }

  async function sealed(entry: Entry, ttl = 300_000) {
    const digested = await digestArguments(sent)
    if (!digested.ok) throw new Error(digested.problem)
    const binding: Binding = {
      tenant: "claim:acme" as TenantId,
      principal: '["https://issuer.example","alice",null]' as Principal,
      audience: "https://mcp.example/mcp",
      method: "tools/call",
      target: "create_project",
      argumentsDigest: digested.digest,
    }
    const issuedAt = ttl > 0 ? Date.now() : Date.now() - 60_000 + ttl
    const times = { issuedAt, expiresAt: issuedAt + Math.abs(ttl), deadline: issuedAt + 600_000 }
    const draft = { round: 1, roundLimit: 3, ...times, home: { region: 4, shard: 11 }, state }
    const random = (bytes: Uint8Array<ArrayBuffer>) => crypto.getRandomValues(bytes)
    return createSealer({ purpose: "mcp", ring: ringOf([entry]), now: Date.now, random }).seal(binding, draft)
  }

  async function inspected(args: readonly string[], token: string): Promise<unknown> {
    const { code, out, error } = await waxseal(["inspect", ...args], `${token}\n`)
    expect({ code, error }).toEqual({ code: 0, error: "" })
    return JSON.parse(out)
  }

  it("reads the header without a key", async () => {
    const entry = key(-DAY)
    const { token, operation } = await sealed(entry)
    const found = await inspected([], token)
    expect(found).toEqual({
      suite: 1,
      keyId: idOf(entry),
      expiresAt: expect.stringMatching(/^\d{4}-.*Z$/),
      expired: false,
      characters: token.length,
      operationIdIfFirstRound: operation,
    })
  })

  it("says with the ring what became of the key", async () => {
    const [entry, other] = [key(-DAY), key(-2 * DAY)]
    const { token } = await sealed(entry)
    const here = await inspected(["--keys", await ringFile(entry, other)], token)
    expect(here).toMatchObject({ key: { state: "sealing", sealsFrom: entry.sealsFrom } })
    expect(await inspected(["--keys", await ringFile(other)], token)).toMatchObject({ key: "not in the ring" })
  })

  it("shows everything with the ring and the request, and no key", async () => {
    const entry = key(-DAY)
    const { token, operation } = await sealed(entry)
    const file = await ringFile(entry)
    const found = await inspected(["--keys", file, ...flags], token)
    const contents = { operation, round: 1, roundLimit: 3, home: { region: 4, shard: 11 }, state }
    expect(found).toMatchObject({ needsReseal: false, contents })
    expect(JSON.stringify(found)).not.toContain(entry.key)
  })

  it("shows an expired token too, and says so", async () => {
    const entry = key(-DAY)
    const { token } = await sealed(entry, -1_000)
    const found = await inspected(["--keys", await ringFile(entry), ...flags], token)
    expect(found).toMatchObject({ expired: true, refused: "expired", contents: { state } })
  })

  it("says why a token does not open for another person, and shows nothing of it", async () => {
    const entry = key(-DAY)
    const { token } = await sealed(entry)
    const others = flags.map((flag) => flag.replace("alice", "bob"))
    const found = await inspected(["--keys", await ringFile(entry), ...others], token)
    expect(found).toMatchObject({ refused: "principal" })
    expect(found).not.toHaveProperty("contents")
  })

  it("refuses in one sentence what it cannot look into", async () => {
    const entry = key(-DAY)
    const file = await ringFile(entry)
    await expectRefusal(["inspect"], file, /Standard input holds no token/)
    const { token } = await sealed(entry)
    const refusal = async (args: readonly string[]) =>
      (await waxseal(["inspect", "--keys", file, ...args], token)).error
    const problems = await Promise.all([
      refusal(["--principal", "x"]),
      refusal([...flags, "--arguments", "{name}"]),
      refusal([...flags, "--arguments", "9007199254740993"]),
      refusal([...flags, "--purpose", "result"]),
      waxseal(["inspect", ...flags], token).then(({ error }) => error),
    ])
    expect(problems).toEqual([
      expect.stringMatching(/^--tenant, --principal and --target belong together; use: waxseal inspect .*\n$/),
      "--arguments must be JSON, as the request has it.\n",
      "--arguments cannot be bound: an integer is beyond 2^53.\n",
      "--purpose must be mcp, api or session.\n",
      expect.stringMatching(/^Nothing opens without --keys; use: waxseal inspect .*\n$/),
    ])
  })
})
