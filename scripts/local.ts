// What the commands for local use share: where things lie, and the development keys.
// Development keys are made on first use, for this checkout alone; the Worker refuses them on any host but localhost.
// The private signing key never leaves its file but to sign a token: it is no binding of the Worker.
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { parseEnv } from "node:util"
import { exportJWK, generateKeyPair } from "jose"
import { z } from "zod"
import { CommandError, codeOf, shown } from "../src/cli/command.ts"
import { DEVELOPMENT_KEY_PREFIX } from "../src/seal/index.ts"
import { DEVELOPMENT_KID } from "../src/settings.ts"

export const ROOT = resolve(import.meta.dirname, "..")
export const DEFAULT_PORT = 8787
/** Every local token names its tenant in this claim. */
export const TENANT_CLAIM = "tenant"

/** Holds everything that the Worker stores; `WAXSEAL_STATE` moves it. */
export const STATE_FOLDER = resolve(process.env["WAXSEAL_STATE"] || join(ROOT, ".wrangler/state"))
/** Holds the development keys; `WAXSEAL_SECRETS` moves it. */
const SECRETS_FOLDER = resolve(process.env["WAXSEAL_SECRETS"] || ROOT)
const VARS_FILE = join(SECRETS_FOLDER, ".dev.vars")
const SIGNING_KEY_FILE = join(SECRETS_FOLDER, ".dev.signing-key.json")

const signingKey = z.object({
  kty: z.literal("EC"),
  crv: z.literal("P-256"),
  x: z.string(),
  y: z.string(),
  d: z.string(),
  kid: z.string().startsWith(DEVELOPMENT_KID),
})

export type SigningKey = z.infer<typeof signingKey>

export interface LocalSecrets {
  /** The members of `.dev.vars`: settings of the Worker. */
  readonly vars: Readonly<Record<string, string>>
  /** Signs local access tokens. */
  readonly signingKey: SigningKey
}

/**
 * Reads the development keys and makes those that were never made. Any number of processes may do so at once: the first
 * to put a file in place decides its content, and `.dev.vars` follows from the signing key that is in place.
 */
export async function localSecrets(): Promise<LocalSecrets> {
  // In this order: the signing key is made first, so nobody ever sees `.dev.vars` before it.
  if (existsSync(VARS_FILE) && !existsSync(SIGNING_KEY_FILE)) {
    throw new CommandError(
      `${shown(SIGNING_KEY_FILE)} is missing while ${shown(VARS_FILE)} exists; restore it, or delete ${shown(VARS_FILE)} to make new keys.`,
    )
  }
  const key = parseSigningKey(await readOrCreate(SIGNING_KEY_FILE, newSigningKey))
  const vars = parseVars(await readOrCreate(VARS_FILE, async () => newVars(key)))
  return { vars, signingKey: key }
}

async function readOrCreate(file: string, create: () => Promise<string>): Promise<string> {
  if (!existsSync(file)) createOnce(file, await create())
  return readFileSync(file, "utf8")
}

/** Puts a whole file in place unless one is there: a hard link is never half-written and never replaces. */
function createOnce(file: string, content: string): void {
  const draft = `${file}.${crypto.randomUUID()}`
  try {
    writeFileSync(draft, content, { mode: 0o600, flag: "wx" })
    linkSync(draft, file)
  } catch (error) {
    if (!existsSync(file)) throw new CommandError(`${shown(file)} cannot be written: ${codeOf(error)}.`)
  } finally {
    rmSync(draft, { force: true })
  }
}

async function newSigningKey(): Promise<string> {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true })
  const kid = DEVELOPMENT_KID + crypto.randomUUID().slice(0, 8)
  return `${JSON.stringify({ ...(await exportJWK(privateKey)), kid })}\n`
}

function newVars({ d: _private, ...publicKey }: SigningKey): string {
  const sealKey = Buffer.concat([Buffer.from(DEVELOPMENT_KEY_PREFIX), crypto.getRandomValues(new Uint8Array(24))])
  const anHourAgo = new Date(Date.now() - 3_600_000).toISOString()
  const ring = [{ key: sealKey.toString("base64url"), sealsFrom: anHourAgo }]
  const keySet = { keys: [{ ...publicKey, alg: "ES256", use: "sig" }] }
  return [
    "# Made for this checkout alone. On any host but localhost the Worker refuses these keys.",
    `SEAL_KEYS='${JSON.stringify(ring)}'`,
    `AUTH_JWKS='${JSON.stringify(keySet)}'`,
    "",
  ].join("\n")
}

function parseSigningKey(content: string): SigningKey {
  try {
    return signingKey.parse(JSON.parse(content))
  } catch {
    throw corrupt(SIGNING_KEY_FILE)
  }
}

const localVars = z.looseObject({ SEAL_KEYS: z.string().min(1), AUTH_JWKS: z.string().min(1) }).catchall(z.string())

function parseVars(content: string): LocalSecrets["vars"] {
  const parsed = localVars.safeParse(parseEnv(content))
  if (!parsed.success) throw corrupt(VARS_FILE)
  return parsed.data
}

function corrupt(file: string): CommandError {
  return new CommandError(
    `${shown(file)} is damaged; restore it, or delete ${shown(VARS_FILE)} and ${shown(SIGNING_KEY_FILE)} to make new keys.`,
  )
}
