// The one place that reads and checks settings: an environment in, typed values or one problem out.
// It knows what a good value looks like and on which hosts it may serve.
// It must not know what the values are used for, and no problem that it states repeats a value.
import type { JSONWebKeySet } from "jose"
import { z } from "zod"
import { isDevelopmentRing, type KeyRing, parseKeyRing, ringProblem } from "./seal/index.ts"

/** Where Cloudflare keeps a tenant's objects, when it must not be anywhere. */
export type Jurisdiction = "eu" | "fedramp"

/** How callers prove who they are. */
export type AuthSettings =
  /** Everyone is one anonymous principal; on localhost only. */
  | { readonly mode: "none" }
  | {
      readonly mode: "jwt"
      /** Compared with a token's `iss` character by character. */
      readonly issuer: string
      readonly keys:
        | { readonly kind: "inline"; readonly set: JSONWebKeySet }
        | { readonly kind: "remote"; readonly url: URL }
      /** The claim that names the tenant; without one the tenant is the issuer. */
      readonly tenantClaim: string | undefined
    }

export interface Settings {
  /** An origin, where one was set. Callers want {@link baseUrl}. */
  readonly publicUrl: URL | undefined
  readonly auth: AuthSettings
  readonly ring: KeyRing
  /** Origins of browsers that may call, as browsers write them. */
  readonly allowedOrigins: readonly string[]
  /** Life of one token. */
  readonly stateTtlSeconds: number
  /** Objects over which a region's sealed operations are spread. Tokens carry the index, so it may change at any time. */
  readonly ledgerShards: number
  /** By the tenant as its claim spells it, or by the issuer where no claim is configured. */
  readonly jurisdictions: ReadonlyMap<string, Jurisdiction>
  /** How clients of MCP revisions before 2026-07-28 are served: with sessions, without any, or not at all. */
  readonly legacy: "interactive" | "stateless" | "reject"
  readonly demo: DemoSettings
}

/** What the demonstration tools go by. */
export interface DemoSettings {
  /** US dollars a month for a project, by account. */
  readonly prices: ReadonlyMap<string, number>
  /** US dollars a month for all projects together, by account; an account that has none may create nothing. */
  readonly budgets: ReadonlyMap<string, number>
  /** Approvals given under another version do not count. */
  readonly policyVersion: string
  /** Absent: documents are not summarised here. */
  readonly llm: LlmSettings | undefined
}

/** An API of the kind that OpenAI's is, and which of its models serves which mode. */
export interface LlmSettings {
  readonly baseUrl: string
  readonly apiKey: string | undefined
  readonly models: { readonly fast: string; readonly balanced: string; readonly high_quality: string }
}

/** `problem` completes the sentence `${setting}: ${problem}` and never contains the value. */
export type SettingsResult =
  | { readonly ok: true; readonly settings: Settings }
  | { readonly ok: false; readonly setting: string; readonly problem: string }

/** How the ids of public keys begin whose private half lies in a checkout. */
export const DEVELOPMENT_KID = "development-"

/**
 * Reads and checks every setting of an environment. Other members (bindings) are ignored.
 *
 * @example
 * const result = readSettings(env)
 * if (!result.ok) console.error(`${result.setting}: ${result.problem}`)
 */
export function readSettings(env: object): SettingsResult {
  const parsed = environment.safeParse(env)
  if (!parsed.success) return { ok: false, ...firstProblem(parsed.error) }
  const values = parsed.data
  const auth = authSettings(values)
  if ("problem" in auth) return { ok: false, ...auth }
  const llm = llmSettings(values)
  if (llm && "problem" in llm) return { ok: false, ...llm }
  return {
    ok: true,
    settings: {
      publicUrl: values.PUBLIC_URL,
      auth,
      ring: values.SEAL_KEYS,
      allowedOrigins: values.ALLOWED_ORIGINS,
      stateTtlSeconds: values.STATE_TTL_SECONDS,
      ledgerShards: values.LEDGER_SHARDS,
      jurisdictions: values.JURISDICTIONS,
      legacy: values.LEGACY,
      demo: { prices: values.PRICES, budgets: values.BUDGETS, policyVersion: values.POLICY_VERSION, llm },
    },
  }
}

const known = new WeakMap<object, SettingsResult>()

/** {@link readSettings}, done once for each environment object: once an isolate, not once a request. */
export function settingsOf(env: object): SettingsResult {
  const before = known.get(env)
  if (before !== undefined) return before
  const result = readSettings(env)
  known.set(env, result)
  return result
}

/** Why these settings must not serve a request to this URL, as a whole sentence; undefined when they may. */
export function checkHost(settings: Settings, url: URL): string | undefined {
  // What clients call decides: behind a proxy a request may come for localhost that was sent from anywhere.
  if (isLoopback(settings.publicUrl ?? url)) {
    if (isLoopback(url)) return undefined
    return "PUBLIC_URL: is on localhost, and a request came for another host; set the origin that clients use."
  }
  const sentence = developmentProblem(settings)
  if (sentence !== undefined) return sentence
  if (settings.publicUrl === undefined) {
    return "PUBLIC_URL: is required on hosts other than localhost; set the origin that clients use."
  }
  return undefined
}

/** What of these settings is for development alone, as a whole sentence; undefined when nothing is. */
export function developmentProblem(settings: Settings): string | undefined {
  if (settings.auth.mode === "none") {
    return "AUTH_MODE: none is for local development; remove it and configure an issuer."
  }
  if (hasDevelopmentKey(settings.auth)) {
    return "AUTH_JWKS: contains a key for local development; set your identity provider's keys."
  }
  if (isDevelopmentRing(settings.ring)) {
    return "SEAL_KEYS: contains a key for local development; set a ring of fresh random keys."
  }
  return undefined
}

/** Why no state can be sealed at this time, as a whole sentence; time passes, so this is asked again and again. */
export function checkRing(settings: Settings, now: number): string | undefined {
  const problem = ringProblem(settings.ring, now)
  return problem === undefined ? undefined : `SEAL_KEYS: ${problem}.`
}

/** The origin that this deployment is known by, without a trailing slash. */
export function baseUrl(settings: Settings, url: URL): string {
  return (settings.publicUrl ?? url).origin
}

const LOOPBACK_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "[::1]"]

function isLoopback(url: URL): boolean {
  return LOOPBACK_HOSTS.includes(url.hostname)
}

function hasDevelopmentKey(auth: AuthSettings): boolean {
  if (auth.mode === "none" || auth.keys.kind === "remote") return false
  return auth.keys.set.keys.some((key) => key.kid?.startsWith(DEVELOPMENT_KID))
}

/** Plain HTTP only on this machine, and nothing in it that would have to stay secret. */
function isTrustworthyUrl(text: string): boolean {
  const url = /^https?:\/\/[^\s*]+$/.test(text) ? URL.parse(text) : null
  if (url === null) return false
  const isSecure = url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url))
  return isSecure && url.username === "" && url.password === "" && url.hash === ""
}

/** As browsers write the `Origin` header: scheme, host, and the port where it is not the scheme's own. */
function isOrigin(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && url.host !== "" && !url.host.includes("*") && text === `${url.protocol}//${url.host}`
}

function isPublicUrl(text: string): boolean {
  return isTrustworthyUrl(text) && isOrigin(text.replace(/\/$/, ""))
}

function text(accepts: (text: string) => boolean, problem: string) {
  return z.string(problem).refine(accepts, problem)
}

/** A number or its digits: TOML and the shell both have their say. */
function wholeNumber(least: number, most: number) {
  const problem = `must be a whole number from ${least} to ${most}.`
  const digits = z.string().regex(/^\d+$/).transform(Number)
  return z.union([z.number(), digits], problem).pipe(z.int(problem).min(least, problem).max(most, problem))
}

function json(problem: string) {
  return z.string(problem).transform((text, context): unknown => {
    try {
      return JSON.parse(text)
    } catch {
      context.addIssue(problem)
      return z.NEVER
    }
  })
}

/** RFC 7517 §9.3 and RFC 8037 §2, and the members of keys that both sides share. */
const PRIVATE_MEMBERS: readonly string[] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"]

const NOT_PUBLIC =
  "must hold public keys alone; take the private or symmetric key out, and replace it if it was ever deployed."
const NOT_A_KEY =
  "must hold signature keys of these kinds: RSA of 2048 bits or more, EC on P-256, P-384 or P-521, OKP on Ed25519."
const NOT_A_SET = 'must be a JSON Web Key Set: {"keys":[…]} with at least one key.'

function encoded(least: number, most = least) {
  return z.string().regex(new RegExp(`^[A-Za-z0-9_-]{${least},${most}}$`), { abort: true })
}

const keyMembers = {
  kid: z.string().exactOptional(),
  use: z.literal("sig").exactOptional(),
  key_ops: z
    .array(z.string())
    .refine((uses) => uses.includes("verify"))
    .exactOptional(),
}

/** Sizes in characters of base64url: 256 bytes are 342. RFC 7518 §3.3 asks for 2048 bits or more. */
const rsaKey = z.object({
  ...keyMembers,
  kty: z.literal("RSA"),
  alg: z.enum(["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]).exactOptional(),
  n: encoded(342, 2731),
  e: encoded(1, 8),
})

function ecKey(crv: string, alg: string, size: number) {
  return z.object({
    ...keyMembers,
    kty: z.literal("EC"),
    crv: z.literal(crv),
    alg: z.literal(alg).exactOptional(),
    x: encoded(size),
    y: encoded(size),
  })
}

const edKey = z.object({
  ...keyMembers,
  kty: z.literal("OKP"),
  crv: z.literal("Ed25519"),
  alg: z.enum(["EdDSA", "Ed25519"]).exactOptional(),
  x: encoded(43),
})

const publicKey = z
  .looseObject({}, NOT_A_KEY)
  .refine((key) => key["kty"] !== "oct" && !PRIVATE_MEMBERS.some((member) => Object.hasOwn(key, member)), {
    error: NOT_PUBLIC,
    abort: true,
  })
  .pipe(
    z.union(
      [rsaKey, ecKey("P-256", "ES256", 43), ecKey("P-384", "ES384", 64), ecKey("P-521", "ES512", 88), edKey],
      NOT_A_KEY,
    ),
  )

const keySet = z
  .object({ keys: z.array(publicKey, NOT_A_SET).min(1, NOT_A_SET) }, NOT_A_SET)
  .refine(
    ({ keys }) => new Set(keys.map((key) => key.kid)).size === keys.length,
    "must give each key a `kid` of its own.",
  )

const NOT_JURISDICTIONS = 'must be a JSON object of tenants, each "eu" or "fedramp", such as {"acme":"eu"}.'

/** A JSON object as a map. By its entries, because zod's records leave out a member called `__proto__`. */
function mapOf<Value>(problem: string, value: z.ZodType<Value>) {
  return json(problem)
    .pipe(z.custom<object>((map) => typeof map === "object" && map !== null && !Array.isArray(map), problem))
    .transform((map) => Object.entries(map))
    .pipe(z.array(z.tuple([z.string(), value])))
    .transform((entries): ReadonlyMap<string, Value> => new Map(entries))
}

const jurisdictions = mapOf(NOT_JURISDICTIONS, z.enum(["eu", "fedramp"], NOT_JURISDICTIONS))

const NOT_AMOUNTS = 'must be a JSON object of accounts and US dollars, such as {"acme":49.5}.'

/** Dollars and cents, up to a million. */
const dollars = z.number(NOT_AMOUNTS).min(0, NOT_AMOUNTS).max(1_000_000, NOT_AMOUNTS).multipleOf(0.01, NOT_AMOUNTS)

const amounts = mapOf(NOT_AMOUNTS, dollars)

const NOT_MODELS = 'must be a JSON object of the three modes, such as {"fast":"…","balanced":"…","high_quality":"…"}.'

const models = json(NOT_MODELS).pipe(
  z.strictObject({ fast: z.string().min(1), balanced: z.string().min(1), high_quality: z.string().min(1) }, NOT_MODELS),
)

/** For everyone who reads it: `npx` would fetch the command from a registry where it is not installed. */
const NO_RING =
  "is required and has no default; make a ring by waxseal keygen --out ring.json (in a clone: npm run -s waxseal -- keygen --out ring.json), keep that file in a vault, and set its text."

const ring = z
  .string(NO_RING)
  .min(1, { error: NO_RING, abort: true })
  .transform((text, context): KeyRing => {
    const parsed = parseKeyRing(text)
    if (parsed.ok) return parsed.ring
    context.addIssue(`${parsed.problem}.`)
    return z.NEVER
  })

const NOT_PUBLIC_URL =
  "must be an https origin without a path, such as https://waxseal.example.com (http on localhost only)."
const NOT_URL = "must be an https URL (http on localhost only) without credentials or fragment."
const NOT_A_CLAIM = "must be the name of a claim without white space; remove it where the issuer is the tenant."
const NOT_ORIGINS = "must be origins separated by commas, each as browsers send it, such as https://app.example.com."

const NOT_LEGACY = "must be interactive, stateless or reject; remove it for the default, interactive."

const environment = z.object({
  SEAL_KEYS: ring,
  PUBLIC_URL: text(isPublicUrl, NOT_PUBLIC_URL)
    .transform((url) => new URL(url))
    .optional(),
  AUTH_MODE: z.literal("none", "must be none or absent.").optional(),
  AUTH_ISSUER: text(isTrustworthyUrl, NOT_URL).optional(),
  AUTH_JWKS: json(NOT_A_SET).pipe(keySet).optional(),
  AUTH_JWKS_URL: text(isTrustworthyUrl, NOT_URL)
    .transform((url) => new URL(url))
    .optional(),
  AUTH_TENANT_CLAIM: text((name) => name !== "" && !/\s/.test(name), NOT_A_CLAIM).optional(),
  ALLOWED_ORIGINS: z
    .string(NOT_ORIGINS)
    .transform((list) => list.split(/[\s,]+/))
    .pipe(z.array(z.string().refine(isOrigin, NOT_ORIGINS)))
    .default([]),
  STATE_TTL_SECONDS: wholeNumber(1, 86_400).default(300),
  LEDGER_SHARDS: wholeNumber(1, 4_096).default(16),
  JURISDICTIONS: jurisdictions.default(new Map()),
  LEGACY: z.enum(["interactive", "stateless", "reject"], NOT_LEGACY).default("interactive"),
  PRICES: amounts.default(new Map()),
  BUDGETS: amounts.default(new Map()),
  POLICY_VERSION: text((version) => version !== "", "must not be empty; remove it for the default, 1.").default("1"),
  LLM_BASE_URL: text(isTrustworthyUrl, NOT_URL).optional(),
  LLM_API_KEY: text((key) => key !== "", "must not be empty; remove it where the provider wants none.").optional(),
  LLM_MODELS: models.optional(),
})

/** The names of all settings: what a development server may take over from the shell. */
export const settingNames: readonly string[] = Object.keys(environment.shape)

interface Problem {
  readonly setting: string
  readonly problem: string
}

function firstProblem(error: z.ZodError): Problem {
  const [issue] = error.issues
  return { setting: String(issue?.path[0]), problem: issue?.message ?? "is wrong." }
}

function authSettings(values: z.infer<typeof environment>): AuthSettings | Problem {
  if (values.AUTH_MODE === "none") return { mode: "none" }
  const { AUTH_ISSUER: issuer, AUTH_JWKS: set, AUTH_JWKS_URL: url, AUTH_TENANT_CLAIM: tenantClaim } = values
  if (issuer === undefined) {
    return {
      setting: "AUTH_ISSUER",
      problem: "is required; set the `iss` of the tokens that your identity provider signs.",
    }
  }
  if (set !== undefined && url !== undefined) {
    return { setting: "AUTH_JWKS_URL", problem: "must not be set together with AUTH_JWKS; remove one of them." }
  }
  if (set !== undefined) return { mode: "jwt", issuer, keys: { kind: "inline", set }, tenantClaim }
  if (url !== undefined) return { mode: "jwt", issuer, keys: { kind: "remote", url }, tenantClaim }
  return { setting: "AUTH_JWKS", problem: "is required, or AUTH_JWKS_URL; set your identity provider's public keys." }
}

function llmSettings(values: z.infer<typeof environment>): LlmSettings | Problem | undefined {
  const { LLM_BASE_URL: baseUrl, LLM_API_KEY: apiKey, LLM_MODELS: models } = values
  if (baseUrl === undefined && models === undefined) return undefined
  if (baseUrl === undefined) return { setting: "LLM_BASE_URL", problem: "is required where LLM_MODELS is set." }
  if (models === undefined) return { setting: "LLM_MODELS", problem: "is required where LLM_BASE_URL is set." }
  return { baseUrl, apiKey, models }
}
