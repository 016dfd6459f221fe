import { setTimeout as sleep } from "node:timers/promises"
import { z } from "zod"
import { VERSION } from "../../src/version.ts"

/** A new version reaches every place of the network within this time, and a new name its resolvers. */
const PATIENCE_MS = 60_000
const ANSWER_WITHIN_MS = 10_000

/** What was looked at, and why it is not as it must be; undefined when it is. */
export interface Finding {
  readonly what: string
  readonly wrong?: string
}

/** One look, which throws in one sentence when something is wrong. */
type Look = (origin: string) => Promise<void>

const LOOKS: readonly (readonly [what: string, look: Look])[] = [
  ["/healthz says that this version is up", looksHealthy],
  ["/mcp says whom it trusts", (origin) => describesItself(origin, "/mcp")],
  ["/v1 says whom it trusts", (origin) => describesItself(origin, "/v1")],
  ["/mcp asks a stranger for an access token", challengesStrangers],
  ["/openapi.json describes the API", describesApi],
]

/**
 * Looks from outside, without a token, whether this version of the service is what answers at an origin, for as long as
 * a deployment may take to get there.
 */
export async function smoke(origin: string, patience = PATIENCE_MS): Promise<readonly Finding[]> {
  const giveUpAt = Date.now() + patience
  for (;;) {
    const findings = await Promise.all(LOOKS.map(([what, look]) => tryLook(origin, what, look)))
    if (findings.every(({ wrong }) => wrong === undefined) || Date.now() >= giveUpAt) return findings
    await sleep(2_000)
  }
}

async function tryLook(origin: string, what: string, look: Look): Promise<Finding> {
  try {
    await look(origin)
    return { what }
  } catch (error) {
    return { what, wrong: error instanceof Wrong ? error.message : "does not answer" }
  }
}

class Wrong extends Error {}

function ask(url: string, init: RequestInit = {}): Promise<Response> {
  return fetch(url, { ...init, redirect: "manual", signal: AbortSignal.timeout(ANSWER_WITHIN_MS) })
}

async function read<Document>(url: string, schema: z.ZodType<Document>): Promise<Document> {
  const response = await ask(url)
  if (response.status !== 200) throw new Wrong(`answers ${response.status}`)
  const parsed = schema.safeParse(await response.json().catch(() => undefined))
  if (!parsed.success) throw new Wrong("answers something else")
  return parsed.data
}

async function looksHealthy(origin: string): Promise<void> {
  const { version } = await read(`${origin}/healthz`, z.object({ status: z.literal("ok"), version: z.string() }))
  if (version !== VERSION) throw new Wrong(`answers as version ${version}, not ${VERSION}`)
}

function metadataUrl(origin: string, path: string): string {
  return `${origin}/.well-known/oauth-protected-resource${path}`
}

async function describesItself(origin: string, path: string): Promise<void> {
  const schema = z.object({ resource: z.string(), authorization_servers: z.array(z.string()).min(1) })
  const { resource } = await read(metadataUrl(origin, path), schema)
  if (resource !== `${origin}${path}`) throw new Wrong("calls itself by another name; is PUBLIC_URL this origin?")
}

async function challengesStrangers(origin: string): Promise<void> {
  const { status, headers } = await ask(`${origin}/mcp`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  })
  const challenge = headers.get("www-authenticate") ?? ""
  if (status !== 401) throw new Wrong(`answers ${status}, not 401`)
  if (!challenge.includes(`resource_metadata="${metadataUrl(origin, "/mcp")}"`)) {
    throw new Wrong("does not say where its metadata is")
  }
}

async function describesApi(origin: string): Promise<void> {
  const schema = z.object({ openapi: z.string().startsWith("3.1"), paths: z.looseObject({ "/v1/seal": z.unknown() }) })
  await read(`${origin}/openapi.json`, schema)
}
