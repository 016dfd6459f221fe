import { setTimeout as sleep } from "node:timers/promises"
import { z } from "zod"
import { VERSION } from "../../src/version.ts"

const ANSWER_WITHIN_MS = 10_000

/** What was looked at, and why it is not as it must be; undefined when it is. */
export interface Finding {
  readonly what: string
  readonly wrong?: string
}

/** One look, which throws in one sentence when something is wrong. */
type Look = (origin: string, deployment: string | undefined) => Promise<void>

const LOOKS: readonly (readonly [what: string, look: Look])[] = [
  ["/healthz says that this version is up", looksHealthy],
  ["/mcp says whom it trusts", (origin) => describesItself(origin, "/mcp")],
  ["/v1 says whom it trusts", (origin) => describesItself(origin, "/v1")],
  ["/mcp asks a stranger for an access token", challengesStrangers],
  ["/openapi.json describes the API", describesApi],
]

/**
 * Looks from outside, without a token, whether this version of the service is what answers at an origin, again and again
 * for `patienceMs`. Versions are compared by their number, which an older upload may bear too; the name of a deployment
 * tells that apart.
 */
export async function smoke(origin: string, patienceMs: number, deployment?: string): Promise<readonly Finding[]> {
  const giveUpAt = Date.now() + patienceMs
  for (;;) {
    const findings = await Promise.all(LOOKS.map(([what, look]) => tryLook(what, () => look(origin, deployment))))
    if (findings.every(({ wrong }) => wrong === undefined) || Date.now() >= giveUpAt) return findings
    await sleep(2_000)
  }
}

async function tryLook(what: string, look: () => Promise<void>): Promise<Finding> {
  try {
    await look()
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

const Health = z.object({ status: z.literal("ok"), version: z.string(), deployment: z.string().optional() })

async function looksHealthy(origin: string, deployment: string | undefined): Promise<void> {
  const health = await read(`${origin}/healthz`, Health)
  if (health.version !== VERSION) throw new Wrong(`answers as version ${health.version}, not ${VERSION}`)
  if (deployment !== undefined && health.deployment !== deployment) {
    throw new Wrong("answers as another deployment of this version; does PUBLIC_URL lead to the Worker just deployed?")
  }
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
