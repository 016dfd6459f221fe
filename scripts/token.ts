// `npm run -s token`: prints one access token signed with the development key, and nothing else.
// Makes the development keys when they were never made, so it works before the first `npm start` and after it alike.
import { parseArgs } from "node:util"
import { SignJWT } from "jose"
import { CommandError, readFlags, runCommand } from "../src/cli/command.ts"
import { parsePort } from "../src/cli/serve/index.ts"
import { DEFAULT_PORT, localSecrets, TENANT_CLAIM } from "./local.ts"

const USAGE =
  'npm run -s token -- --principal NAME [--tenant NAME] [--client ID] [--api] [--scope "a b"] [--ttl SECONDS] [--audience URL] [--issuer-port PORT]'

const MCP_SCOPE = "mcp projects:create"
const API_SCOPE = "state:seal state:open state:redeem operations"
const LONGEST_TTL_SECONDS = 31_536_000

await runCommand(async () => {
  const flags = readFlags(USAGE, parseFlags)
  if (!flags.principal) throw new CommandError(`--principal is required; use: ${USAGE}`)
  const issuer = `http://localhost:${parsePort(flags["issuer-port"])}`
  const now = Math.floor(Date.now() / 1000)
  const { signingKey } = await localSecrets()
  const token = await new SignJWT({
    [TENANT_CLAIM]: flags.tenant,
    ...(flags.client !== undefined && { client_id: flags.client }),
    scope: flags.scope ?? (flags.api ? API_SCOPE : MCP_SCOPE),
  })
    .setProtectedHeader({ alg: "ES256", kid: signingKey.kid, typ: "at+jwt" })
    .setIssuer(issuer)
    .setAudience(flags.audience ?? `${issuer}${flags.api ? "/v1" : "/mcp"}`)
    .setSubject(flags.principal)
    .setIssuedAt(now)
    .setExpirationTime(now + parseTtl(flags.ttl))
    .setJti(crypto.randomUUID())
    .sign(signingKey)
  console.log(token)
})

function parseFlags() {
  return parseArgs({
    options: {
      principal: { type: "string" },
      tenant: { type: "string", default: "local" },
      client: { type: "string" },
      api: { type: "boolean", default: false },
      scope: { type: "string" },
      ttl: { type: "string", default: "3600" },
      audience: { type: "string" },
      "issuer-port": { type: "string", default: String(DEFAULT_PORT) },
    },
  }).values
}

function parseTtl(text: string): number {
  const seconds = Number(text)
  if (/^\d+$/.test(text) && seconds >= 1 && seconds <= LONGEST_TTL_SECONDS) return seconds
  throw new CommandError(`--ttl must be a whole number of seconds from 1 to ${LONGEST_TTL_SECONDS}.`)
}
