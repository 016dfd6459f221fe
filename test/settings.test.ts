import { describe, expect, it } from "vitest"
import { baseUrl, checkHost, checkRing, readSettings, type Settings, settingsOf } from "../src/settings.ts"

const HOUR_MS = 3_600_000
const A_SECRET = "MDEyMzQ1Njc4OWFiY2RlZkdISUpLTE1OT1BRUlNUVVY"
const DEVELOPMENT_SECRET = btoa("dev-only456789abcdefGHIJKLMNOPQR").replace("=", "")

const sealKeys = (...entries: object[]) => JSON.stringify(entries)
const sealKey = (members: object = {}) => ({ key: A_SECRET, sealsFrom: "2026-01-01T00:00:00Z", ...members })
const ecKey = (members: object = {}) => ({ kty: "EC", crv: "P-256", x: "x".repeat(43), y: "y".repeat(43), ...members })
const rsaKey = (members: object = {}) => ({ kty: "RSA", n: "n".repeat(342), e: "AQAB", ...members })
const keySet = (...keys: unknown[]) => JSON.stringify({ keys })

const GOOD = {
  SEAL_KEYS: sealKeys(sealKey()),
  AUTH_ISSUER: "https://id.example.com",
  AUTH_JWKS: keySet(ecKey({ kid: "a" })),
}
const DEVELOPMENT_RING = { SEAL_KEYS: sealKeys(sealKey({ key: DEVELOPMENT_SECRET })) }
const DEVELOPMENT_JWKS = { AUTH_JWKS: keySet(ecKey({ kid: "development-1a2b3c4d" })) }

function settings(changes: object = {}): Settings {
  const result = readSettings({ ...GOOD, ...changes })
  if (!result.ok) throw new Error(`${result.setting}: ${result.problem}`)
  return result.settings
}

function sentence(changes: object): string {
  const result = readSettings({ ...GOOD, ...changes })
  if (result.ok) throw new Error("accepted")
  return `${result.setting}: ${result.problem}`
}

describe("readSettings", () => {
  it("fills in what is not set", () => {
    expect(settings()).toMatchObject({
      publicUrl: undefined,
      auth: { mode: "jwt", issuer: "https://id.example.com", keys: { kind: "inline" }, tenantClaim: undefined },
      allowedOrigins: [],
      stateTtlSeconds: 300,
      ledgerShards: 16,
      jurisdictions: new Map(),
      legacy: "interactive",
      demo: { prices: new Map(), budgets: new Map(), policyVersion: "1", llm: undefined },
    })
  })

  it("reads every setting and ignores bindings", () => {
    const read = settings({
      LEDGER: {},
      PUBLIC_URL: "https://waxseal.example.com/",
      AUTH_JWKS: undefined,
      AUTH_JWKS_URL: "https://id.example.com/keys?set=1",
      AUTH_TENANT_CLAIM: "org",
      ALLOWED_ORIGINS: "https://app.example.com, http://localhost:6274 chrome-extension://abc",
      STATE_TTL_SECONDS: "60",
      LEDGER_SHARDS: 4,
      LEGACY: "stateless",
      JURISDICTIONS: '{"acme":"eu","__proto__":"fedramp"}',
    })
    expect(read).toMatchObject({
      publicUrl: new URL("https://waxseal.example.com"),
      auth: { keys: { kind: "remote", url: new URL("https://id.example.com/keys?set=1") }, tenantClaim: "org" },
      allowedOrigins: ["https://app.example.com", "http://localhost:6274", "chrome-extension://abc"],
      stateTtlSeconds: 60,
      ledgerShards: 4,
      legacy: "stateless",
    })
    expect([...read.jurisdictions]).toEqual([
      ["acme", "eu"],
      ["__proto__", "fedramp"],
    ])
  })

  it("keeps nothing of a public key but what verifies", () => {
    const { auth } = settings({
      AUTH_JWKS: keySet(rsaKey({ kid: "r", alg: "RS256", use: "sig", x5c: ["certificate"] })),
    })
    expect(auth).toMatchObject({ keys: { set: { keys: [rsaKey({ kid: "r", alg: "RS256", use: "sig" })] } } })
    expect(JSON.stringify(auth)).not.toContain("certificate")
  })

  it("needs no issuer without authentication", () => {
    const none = { AUTH_MODE: "none", AUTH_ISSUER: undefined, AUTH_JWKS: undefined }
    expect(settings(none).auth).toEqual({ mode: "none" })
  })
})

describe("SEAL_KEYS", () => {
  const NO_RING =
    "is required and has no default; make a ring by waxseal keygen --out ring.json (in a clone: npm run -s waxseal -- keygen --out ring.json), keep that file in a vault, and set its text."

  it.each([
    ["missing", undefined, NO_RING],
    ["empty", "", NO_RING],
    ["no JSON", "ring.json", "it is not JSON."],
    ["without a key", "[]", "it holds no key."],
    ["short", sealKeys(sealKey({ key: A_SECRET.slice(0, 40) })), "entry 1: key has 30 bytes and needs 32."],
    ["padded", sealKeys(sealKey({ key: `${A_SECRET}=` })), "entry 1: key is not base64url without padding."],
    ["repeated", sealKeys(sealKey(), sealKey({ sealsFrom: "2026-02-01T00:00:00Z" })), "the same key occurs twice."],
    ["undated", sealKeys({ key: A_SECRET }), "entry 1: sealsFrom is not an RFC 3339 time."],
    ["of an unknown suite", sealKeys(sealKey({ suite: 3 })), "entry 1: suite is neither 1 nor 2."],
  ])("refused when %s", (_, value, problem) => {
    expect(sentence({ SEAL_KEYS: value })).toBe(`SEAL_KEYS: ${problem}`)
  })

  it("must seal now, which only time can tell", () => {
    const upcoming = settings({ SEAL_KEYS: sealKeys(sealKey({ sealsFrom: "2026-06-01T00:00:00Z" })) })
    const from = Date.parse("2026-06-01T00:00:00Z")
    expect(checkRing(upcoming, from - HOUR_MS)).toMatch(/^SEAL_KEYS: .+\.$/)
    expect(checkRing(upcoming, from)).toBeUndefined()
  })
})

describe("the other settings", () => {
  const NOT_PUBLIC_URL =
    "must be an https origin without a path, such as https://waxseal.example.com (http on localhost only)."
  const NOT_URL = "must be an https URL (http on localhost only) without credentials or fragment."
  const NOT_A_SET = 'must be a JSON Web Key Set: {"keys":[…]} with at least one key.'
  const NOT_PUBLIC =
    "must hold public keys alone; take the private or symmetric key out, and replace it if it was ever deployed."
  const NOT_A_KEY =
    "must hold signature keys of these kinds: RSA of 2048 bits or more, EC on P-256, P-384 or P-521, OKP on Ed25519."
  const NOT_ORIGINS = "must be origins separated by commas, each as browsers send it, such as https://app.example.com."
  const NOT_TTL = "must be a whole number from 1 to 86400."
  const NOT_SHARDS = "must be a whole number from 1 to 4096."
  const NOT_JURISDICTIONS = 'must be a JSON object of tenants, each "eu" or "fedramp", such as {"acme":"eu"}.'

  it.each([
    [
      "PUBLIC_URL",
      ["", "waxseal", 7, "http://example.com", "https://example.com/mcp", "https://a@b.test"],
      NOT_PUBLIC_URL,
    ],
    ["PUBLIC_URL", ["https://b.test?q", "https://b.test#f", "https://b.test//", "HTTPS://b.test"], NOT_PUBLIC_URL],
    ["AUTH_MODE", ["", "None", "jwt", false], "must be none or absent."],
    [
      "AUTH_ISSUER",
      ["", "me", "http://id.example.com", "https://u@id.example.com", "https://u:p@id.example.com", "https://b.test#f"],
      NOT_URL,
    ],
    ["AUTH_JWKS_URL", ["", "me", "http://id.example.com/keys", "file:///keys"], NOT_URL],
    ["AUTH_JWKS", ["", "{", "[]", "null", "{}", '{"keys":{}}', keySet(), 7], NOT_A_SET],
    ["AUTH_JWKS", [keySet(ecKey({ d: "d" })), keySet(rsaKey({ p: "p" })), keySet({ kty: "oct", k: "k" })], NOT_PUBLIC],
    ["AUTH_JWKS", [keySet(ecKey({ kid: "a" }), { kty: "oct" }), keySet(ecKey({ k: "" }))], NOT_PUBLIC],
    [
      "AUTH_JWKS",
      [keySet(7), keySet({}), keySet(rsaKey({ n: "n".repeat(341) })), keySet(ecKey({ x: "x" }))],
      NOT_A_KEY,
    ],
    ["AUTH_JWKS", [keySet(ecKey({ crv: "secp256k1" })), keySet(ecKey({ y: "+".repeat(43) }))], NOT_A_KEY],
    ["AUTH_JWKS", [keySet(ecKey({ kid: "a" }), rsaKey({ kid: "a" }))], "must give each key a `kid` of its own."],
    [
      "AUTH_TENANT_CLAIM",
      ["", " ", " tenant", "tenant\n", 7],
      "must be the name of a claim without white space; remove it where the issuer is the tenant.",
    ],
    ["ALLOWED_ORIGINS", ["", "*", "null", "app.example.com", "https://a.test/", "https://A.test", 7], NOT_ORIGINS],
    ["ALLOWED_ORIGINS", ["https://a.test:443", "https://a.test,,*", "https://*.a.test/x"], NOT_ORIGINS],
    ["STATE_TTL_SECONDS", ["", "0", "86401", "-1", "1.5", "1e3", " 60", "sixty", 0, 1.5, Infinity, null], NOT_TTL],
    ["LEDGER_SHARDS", ["", "0", "4097", "many", 0, {}], NOT_SHARDS],
    [
      "LEGACY",
      ["", "on", "Interactive", 1, null],
      "must be interactive, stateless or reject; remove it for the default, interactive.",
    ],
    ["JURISDICTIONS", ["", "eu", "[]", "null", '{"acme":"us"}', '{"acme":{}}', 7], NOT_JURISDICTIONS],
  ])("%s refused when wrong: %j", (setting, values, problem) => {
    for (const value of values) expect(sentence({ [setting]: value })).toBe(`${setting}: ${problem}`)
  })

  it.each([
    [
      { AUTH_ISSUER: undefined },
      "AUTH_ISSUER: is required; set the `iss` of the tokens that your identity provider signs.",
    ],
    [{ AUTH_JWKS: undefined }, "AUTH_JWKS: is required, or AUTH_JWKS_URL; set your identity provider's public keys."],
    [
      { AUTH_JWKS_URL: "https://id.example.com/keys" },
      "AUTH_JWKS_URL: must not be set together with AUTH_JWKS; remove one of them.",
    ],
  ])("identity is whole: %j", (changes, expected) => {
    expect(sentence(changes)).toBe(expected)
  })

  it("never repeats a value", () => {
    const names = [...Object.keys(GOOD), "PUBLIC_URL", "AUTH_MODE", "AUTH_JWKS_URL", "AUTH_TENANT_CLAIM"]
    names.push("ALLOWED_ORIGINS", "STATE_TTL_SECONDS", "LEDGER_SHARDS", "JURISDICTIONS")
    const planted = "aPlantedSecret"
    const values = [`x ${planted}#`, `{"${planted}":1}`, `[{"${planted}":1}]`, sealKeys(sealKey({ key: planted }))]
    const results = names.flatMap((name) => values.map((value) => readSettings({ ...GOOD, [name]: value })))
    const problems = results.flatMap((result) => (result.ok ? [] : result.problem))
    expect(problems.length).toBeGreaterThanOrEqual(40)
    expect(problems.join()).not.toContain(planted)
  })
})

describe("settingsOf", () => {
  it("reads an environment once", () => {
    const env = { ...GOOD }
    expect(settingsOf(env)).toBe(settingsOf(env))
    expect(settingsOf({ ...GOOD })).not.toBe(settingsOf(env))
  })
})

describe("checkHost", () => {
  const PUBLIC = { PUBLIC_URL: "https://waxseal.example.com" }
  const elsewhere = new URL("https://waxseal.example.com/mcp")

  it.each(["http://localhost:8787/", "http://127.0.0.1/", "http://[::1]:9000/"])("lets all pass on %s", (url) => {
    for (const changes of [{}, DEVELOPMENT_RING, DEVELOPMENT_JWKS, { AUTH_MODE: "none" }]) {
      expect(checkHost(settings(changes), new URL(url))).toBeUndefined()
    }
  })

  it.each([
    [{}, "PUBLIC_URL: is required on hosts other than localhost; set the origin that clients use."],
    [
      { ...PUBLIC, ...DEVELOPMENT_RING },
      "SEAL_KEYS: contains a key for local development; set a ring of fresh random keys.",
    ],
    [
      { ...PUBLIC, ...DEVELOPMENT_JWKS },
      "AUTH_JWKS: contains a key for local development; set your identity provider's keys.",
    ],
    [{ ...PUBLIC, AUTH_MODE: "none" }, "AUTH_MODE: none is for local development; remove it and configure an issuer."],
  ])("refuses elsewhere: %j", (changes, expected) => {
    expect(checkHost(settings(changes), elsewhere)).toBe(expected)
  })

  it("finds a development key among others", () => {
    const keys = [sealKey(), sealKey({ key: DEVELOPMENT_SECRET, sealsFrom: "2026-02-01T00:00:00Z" })]
    expect(checkHost(settings({ ...PUBLIC, SEAL_KEYS: sealKeys(...keys) }), elsewhere)).toMatch(/^SEAL_KEYS/)
  })

  it.each([
    "https://localhost.example.com/",
    "https://127.0.0.1.example.com/",
    "https://localhost./",
    "https://10.0.0.1/",
  ])("takes %s for no local host", (url) => {
    expect(checkHost(settings(), new URL(url))).toMatch(/^PUBLIC_URL/)
  })

  it("passes production settings", () => {
    expect(checkHost(settings(PUBLIC), elsewhere)).toBeUndefined()
  })
})

describe("baseUrl", () => {
  it("is the public origin, or the request's own", () => {
    const url = new URL("http://localhost:8787/mcp?a=1")
    expect(baseUrl(settings(), url)).toBe("http://localhost:8787")
    expect(baseUrl(settings({ PUBLIC_URL: "https://waxseal.example.com/" }), url)).toBe("https://waxseal.example.com")
  })
})

describe("what would turn every token away", () => {
  it.each([
    ecKey({ alg: "none" }),
    ecKey({ alg: "RS256" }),
    ecKey({ alg: "ES384" }),
    rsaKey({ alg: "ES256" }),
    rsaKey({ alg: "HS256" }),
    ecKey({ use: "enc" }),
  ])("is no key: %j", (key) => {
    expect(sentence({ AUTH_JWKS: keySet(key) })).toMatch(/^AUTH_JWKS: must hold signature keys/)
  })

  it.each([" https://id.example.com", "https://id.example.com\n"])("is no issuer: %j", (issuer) => {
    expect(sentence({ AUTH_ISSUER: issuer })).toMatch(/^AUTH_ISSUER: must be an https URL/)
  })

  it("is no origin: one with a wildcard", () => {
    expect(sentence({ ALLOWED_ORIGINS: "https://*.a.com" })).toMatch(/^ALLOWED_ORIGINS: /)
  })
})

describe("a request for localhost behind a public name", () => {
  const local = new URL("http://localhost:8787/mcp")
  const PUBLIC = { PUBLIC_URL: "https://prod.example.com" }

  it("does not make it local: development settings stay refused", () => {
    expect(checkHost(settings({ ...PUBLIC, ...DEVELOPMENT_RING }), local)).toMatch(/^SEAL_KEYS/)
    expect(checkHost(settings({ ...PUBLIC, ...DEVELOPMENT_JWKS }), local)).toMatch(/^AUTH_JWKS/)
    expect(checkHost(settings({ ...PUBLIC, AUTH_MODE: "none" }), local)).toMatch(/^AUTH_MODE/)
    expect(checkHost(settings(PUBLIC), local)).toBeUndefined()
  })

  it("is not served under another host where the public name is localhost", () => {
    const here = settings({ PUBLIC_URL: "http://localhost:8787" })
    expect(checkHost(here, new URL("http://evil.test/mcp"))).toMatch(/^PUBLIC_URL/)
    expect(checkHost(here, local)).toBeUndefined()
  })
})
