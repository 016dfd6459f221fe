/*
 * The peer: `provision_database` as a careful author writes it on the official SDK alone. Its state is signed by the
 * SDK's HMAC codec and bound to principal, method, tool and arguments; nothing is sealed, and nothing is single-use.
 * What it makes is made in the same object as ours.
 */
import {
  type AuthInfo,
  acceptedContent,
  type CallToolResult,
  createMcpHandler,
  createRequestStateCodec,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type McpHttpHandler,
  McpServer,
  type RequestStateCodec,
  ResourceTemplate,
  type ServerContext,
} from "@modelcontextprotocol/server"
import canonicalize from "canonicalize"
import { createLocalJWKSet, type JWTVerifyGetKey, jwtVerify } from "jose"
import { z } from "zod"
import type { Registry } from "../../src/mcp/demo/registry.ts"

export { Registry } from "../../src/mcp/demo/registry.ts"

interface Env {
  readonly REGISTRY: DurableObjectNamespace<Registry>
  readonly AUTH_JWKS: string
  readonly AUTH_ISSUER: string
  readonly PUBLIC_URL: string
  readonly SEAL_KEYS: string
  readonly OFFER: string
}

/** How much to offer in all: as much as our Worker does, because registering costs time in every request. */
const Offer = z.object({ tools: z.number(), resources: z.number(), templates: z.number(), prompts: z.number() })

type Offer = z.infer<typeof Offer>

interface State {
  readonly tool: string
  readonly argumentsDigest: string
}

const PROVISION = {
  title: "Provision a database",
  description: "Creates a database in the region that the person chooses when asked.",
  inputSchema: z.object({
    name: z
      .string()
      .min(1)
      .max(128)
      .regex(/^[^\p{C}]+$/u, "must not contain control characters")
      .describe("Name of the database, unique in your organisation"),
  }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
}

const LIST = {
  title: "List what was created",
  description: "Lists the databases that exist in your organisation.",
  inputSchema: z.object({}),
  annotations: { readOnlyHint: true, openWorldHint: false },
}

const CREATED = {
  title: "What was created",
  description: "The databases of your organisation.",
  mimeType: "application/json",
}

const Region = z.object({ region: z.enum(["eu-west-1", "us-east-1", "ap-southeast-1"]) })

const PROMPT = { title: "Filler", description: "Asks for nothing.", argsSchema: PROVISION.inputSchema }

/** Written out, because the SDK would convert the schema in every request. */
const QUESTION = {
  type: "object" as const,
  properties: {
    region: {
      type: "string" as const,
      enum: ["eu-west-1", "us-east-1", "ap-southeast-1"],
      description: "Where the data will be kept",
    },
  },
  required: ["region"],
  $schema: "https://json-schema.org/draft/2020-12/schema",
}

const Claims = z.object({
  sub: z.string(),
  iss: z.string(),
  tenant: z.string(),
  client_id: z.string().optional(),
  scope: z.string().optional(),
})

const TOOL = "provision_database"

/** Tokens that were verified a moment ago, as our Worker remembers them. */
const verified = new Map<string, AuthInfo>()

let endpoint: ReturnType<typeof createEndpoint> | undefined

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    endpoint ??= createEndpoint(env)
    const authInfo = await endpoint.authenticate(request.headers.get("authorization"))
    if (!authInfo) return new Response("unauthorized", { status: 401, headers: { "www-authenticate": "Bearer" } })
    return endpoint.handler.fetch(request, { authInfo })
  },
}

function createEndpoint(env: Env) {
  const offer = Offer.parse(JSON.parse(env.OFFER))
  const keys = createLocalJWKSet(JSON.parse(env.AUTH_JWKS))
  const codec = createRequestStateCodec<State>({
    key: env.SEAL_KEYS,
    ttlSeconds: 300,
    bind: (ctx) => `${principalOf(ctx)}\0${ctx.mcpReq.method}`,
  })
  const registryOf = (tenant: string) => env.REGISTRY.getByName(tenant)
  const handler: McpHttpHandler = createMcpHandler(() => createServer(codec, offer, registryOf))
  return { handler, authenticate: (authorization: string | null) => authenticate(authorization, keys, env) }
}

async function authenticate(
  authorization: string | null,
  keys: JWTVerifyGetKey,
  env: Env,
): Promise<AuthInfo | undefined> {
  const token = /^bearer +(\S+)$/i.exec(authorization ?? "")?.[1]
  if (token === undefined) return undefined
  const known = verified.get(token)
  if (known && (known.expiresAt ?? 0) > Date.now() / 1_000) return known
  try {
    const { payload } = await jwtVerify(token, keys, {
      issuer: env.AUTH_ISSUER,
      audience: `${env.PUBLIC_URL}/mcp`,
      algorithms: ["RS256", "PS256", "ES256", "EdDSA"],
      requiredClaims: ["exp", "sub"],
      clockTolerance: 5,
    })
    const { iss, sub, client_id, tenant, scope } = Claims.parse(payload)
    const scopes = scope?.split(" ") ?? []
    if (!scopes.includes("mcp")) return undefined
    const clientId = JSON.stringify([iss, sub, client_id ?? null])
    const authInfo = { token, clientId, scopes, extra: { tenant }, ...(payload.exp && { expiresAt: payload.exp }) }
    if (verified.size >= 4_096) verified.clear()
    verified.set(token, authInfo)
    return authInfo
  } catch {
    return undefined
  }
}

type RegistryOf = (tenant: string) => DurableObjectStub<Registry>

function createServer(codec: RequestStateCodec<State>, offer: Offer, registryOf: RegistryOf): McpServer {
  const list = async (ctx: ServerContext) => JSON.stringify(await registryOf(tenantOf(ctx)).created())
  const server = new McpServer(
    { name: "bare-sdk", version: "0.1.0" },
    {
      capabilities: { tools: { listChanged: false }, resources: { listChanged: false, subscribe: false } },
      requestState: { verify: codec.verify },
    },
  )
  server.registerTool(TOOL, PROVISION, (args, ctx) => provision(args, ctx, codec, registryOf))
  server.registerTool("list_created", LIST, async (_args, ctx) => text(await list(ctx)))
  server.registerResource("created", "waxseal://created", CREATED, async (uri, ctx) => ({
    contents: [{ uri: uri.href, mimeType: CREATED.mimeType, text: await list(ctx) }],
  }))
  fillUp(server, offer)
  return server
}

/** Stands for what our Worker offers beside the tool that is measured. */
function fillUp(server: McpServer, offer: Offer): void {
  for (let index = 2; index < offer.tools; index++) {
    server.registerTool(`tool_${index}`, PROVISION, () => text("filler"))
  }
  for (let index = 1; index < offer.resources; index++) {
    server.registerResource(`resource_${index}`, `filler://${index}`, CREATED, () => ({ contents: [] }))
  }
  for (let index = 0; index < offer.templates; index++) {
    const template = new ResourceTemplate(`filler://${index}/{name}`, { list: undefined })
    server.registerResource(`template_${index}`, template, CREATED, () => ({ contents: [] }))
  }
  for (let index = 0; index < offer.prompts; index++) {
    server.registerPrompt(`prompt_${index}`, PROMPT, () => ({ messages: [] }))
  }
}

async function provision(
  args: { name: string },
  ctx: ServerContext,
  codec: RequestStateCodec<State>,
  registryOf: RegistryOf,
): Promise<CallToolResult | InputRequiredResult> {
  const argumentsDigest = await digest(args)
  const state = ctx.mcpReq.requestState<State>()
  if (!state) return ask(args.name, await codec.mint({ tool: TOOL, argumentsDigest }, ctx))
  if (state.tool !== TOOL || state.argumentsDigest !== argumentsDigest) {
    return { ...text("The state belongs to another request; call again without it."), isError: true }
  }
  const response = inputResponse(ctx.mcpReq.inputResponses, "region")
  if (response.kind === "elicit" && response.action !== "accept") return text("Nothing was created.")
  const answer = acceptedContent(ctx.mcpReq.inputResponses, "region", Region)
  if (!answer) return ask(args.name, await codec.mint({ tool: TOOL, argumentsDigest }, ctx))
  const database = await registryOf(tenantOf(ctx)).createDatabase(crypto.randomUUID(), args.name, answer.region)
  if (!database) return { ...text("The name is taken."), isError: true }
  return { ...text(`Created ${args.name}.`), structuredContent: { status: "completed", database: { ...database } } }
}

function ask(name: string, requestState: string): InputRequiredResult {
  const message = `In which region shall the database "${name}" be created?`
  const region = inputRequired.elicit({ message, requestedSchema: QUESTION })
  return inputRequired({ inputRequests: { region }, requestState })
}

/** SHA-256 of the arguments in RFC 8785 form. */
async function digest(value: unknown): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(canonicalize(value)))
  return btoa(String.fromCharCode(...new Uint8Array(bytes)))
}

function principalOf(ctx: ServerContext): string {
  return ctx.http?.authInfo?.clientId ?? ""
}

function tenantOf(ctx: ServerContext): string {
  return z.string().parse(ctx.http?.authInfo?.extra?.["tenant"])
}

function text(words: string) {
  return { content: [{ type: "text" as const, text: words }] }
}
