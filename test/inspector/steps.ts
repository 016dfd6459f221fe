import { deepEqual, equal } from "node:assert/strict"
import { z } from "zod"
import type { Ended, Inspector } from "./inspector.ts"

/** Who visits what, and with which tool. */
export interface Visit {
  readonly inspector: Inspector
  /** The MCP endpoint. */
  readonly url: string
  /** An access token for it. */
  readonly token: string
}

/** One thing that the inspector shows. `run` gives what was seen, and throws when it is not right. */
export interface Step {
  readonly title: string
  run(visit: Visit): Promise<string>
}

const REVISION = "2026-07-28"

const MODERN = ["--protocol-era", "modern"]
const PROVISION = ["--method", "tools/call", "--tool-name", "provision_database", "--tool-arg"]

/** The inspector's exit codes. */
const FAILED = 1
const AUTHORIZATION_REQUIRED = 3
const TOOL_SAID_ERROR = 5

const Tools = z.object({ tools: z.array(z.object({ name: z.string() })) })
const Created = z.object({
  structuredContent: z.object({ databases: z.array(z.object({ name: z.string(), region: z.string() })) }),
})
const Read = z.object({ contents: z.array(z.object({ text: z.string() })), ttlMs: z.number(), cacheScope: z.string() })
const Text = z.object({ content: z.tuple([z.object({ text: z.string() })]) })
const Connection = z.object({
  protocolVersion: z.string(),
  serverInfo: z.object({ title: z.string(), version: z.string() }),
})
const Pending = z.object({ elicitationPending: z.object({ elicitationId: z.string(), message: z.string() }) })
const Outcome = z.object({ structuredContent: z.object({ status: z.string(), retryable: z.boolean() }) })

/** In this order: each finds what the ones before it left. */
export const STEPS: readonly Step[] = [
  {
    title: "The CLI without a token is told that it needs one",
    run: async ({ inspector, url }) => {
      const refused = await inspector.cli([...cliTo(url), ...MODERN, "--method", "tools/list"])
      expectExit(refused, AUTHORIZATION_REQUIRED)
      return "it needs authorization"
    },
  },
  {
    title: "The CLI lists the tools",
    run: async (visit) => {
      const { tools } = resultOf(Tools, await cli(visit, [...MODERN, "--method", "tools/list"]))
      const names = tools.map(({ name }) => name).join(", ")
      for (const due of [/provision_database/, /list_created/]) expectShown(names, due)
      return names
    },
  },
  {
    title: "The CLI calls a tool",
    run: async (visit) => {
      deepEqual(await created(visit), [])
      return "no database"
    },
  },
  {
    title: `The CLI reads a resource, with the caching hints that came with ${REVISION}`,
    run: async (visit) => {
      const read = await cli(visit, [...MODERN, "--method", "resources/read", "--uri", "waxseal://created"])
      const { contents, ttlMs, cacheScope } = resultOf(Read, read)
      return `${contents.map(({ text }) => text).join()}, ttlMs ${ttlMs}, cacheScope ${cacheScope}`
    },
  },
  {
    title: "The CLI declares that it cannot be asked, and is not asked",
    run: async (visit) => {
      const refused = await cli(visit, [...MODERN, ...PROVISION, "name=unasked"])
      expectExit(refused, FAILED)
      expectShown(refused.errors, /client capabilities do not declare the required capability/)
      return "the missing capability is named"
    },
  },
  {
    title: "The CLI by default speaks an older revision, and is told what it takes to be asked",
    run: async (visit) => {
      const refused = await cli(visit, [...PROVISION, "name=older"])
      expectExit(refused, TOOL_SAID_ERROR)
      const { text } = resultOf(Text, refused).content[0]
      expectShown(text, /did not declare the required capability/)
      return text
    },
  },
  {
    title: `mcpdo connects at ${REVISION}`,
    run: async ({ inspector, url, token }) => {
      const target = [url, "--era", "modern", "--elicit", "form", "--header", `Authorization: Bearer ${token}`]
      expectExit(await inspector.mcpdo(["--stored-auth-only", "connect", ...target]), 0)
      const shown = await inspector.mcpdo(["--format", "json", "--connection", url, "connections/show"])
      const { protocolVersion, serverInfo } = jsonOf(Connection, shown)
      equal(protocolVersion, REVISION)
      return `${serverInfo.title} ${serverInfo.version}`
    },
  },
  {
    title: "mcpdo's form asks in which region; a person types 2 and submits",
    run: async ({ inspector, url }) => {
      const typed = await inspector.mcpdoTyping(["2", ""], provisionBy(url, "orders"))
      expectExit(typed, 0)
      expectShown(typed.errors, /Input requested: In which region shall the database "orders" be created\?/)
      expectShown(typed.errors, /1\. eu-west-1\s+2\. us-east-1\s+3\. ap-southeast-1/)
      expectShown(typed.output, /created in us-east-1\.[\s\S]*"status": "completed"/)
      return sentence(typed.output)
    },
  },
  {
    title: "mcpdo's form asks about another; the person types c to cancel",
    run: async ({ inspector, url }) => {
      const typed = await inspector.mcpdoTyping(["1", "c"], provisionBy(url, "cancelled"))
      expectExit(typed, 0)
      expectShown(typed.output, /"status": "cancelled"/)
      return sentence(typed.output)
    },
  },
  {
    title: "mcpdo gives a program the question as JSON, and takes its no",
    run: async ({ inspector, url }) => {
      const asked = await inspector.mcpdo(["--format", "json", ...provisionBy(url, "declined")])
      const { elicitationId, message } = jsonOf(Pending, asked).elicitationPending
      const declined = await inspector.mcpdo(["--format", "json", "elicitation/respond", elicitationId, "--decline"])
      deepEqual(jsonOf(Outcome, declined).structuredContent, { status: "declined", retryable: false })
      return `"${message}" -> declined`
    },
  },
  {
    title: "What exists is what was approved, once",
    run: async (visit) => {
      const databases = await created(visit)
      deepEqual(databases, [{ name: "orders", region: "us-east-1" }])
      return databases.map(({ name, region }) => `${name} in ${region}`).join()
    },
  },
]

/** Never a browser for a sign-in: a refusal of the token is a fault, and shown as one. */
function cliTo(url: string): string[] {
  return [url, "--transport", "http", "--stored-auth-only", "--format", "json", "--quiet"]
}

function cli({ inspector, url, token }: Visit, request: readonly string[]): Promise<Ended> {
  return inspector.cli([...cliTo(url), "--header", `Authorization: Bearer ${token}`, ...request])
}

async function created(visit: Visit): Promise<{ name: string; region: string }[]> {
  const list = await cli(visit, [...MODERN, "--method", "tools/call", "--tool-name", "list_created"])
  return resultOf(Created, list).structuredContent.databases
}

function provisionBy(connection: string, name: string): string[] {
  return ["--connection", connection, "tools/call", "provision_database", `name:=${name}`]
}

function expectExit({ code, errors }: Ended, due: number): void {
  if (code !== due) throw new Error(`it exited with ${code}, not ${due}: ${errors.trim()}`)
}

function expectShown(text: string, due: RegExp): void {
  if (!due.test(text)) throw new Error(`${due} is not in: ${text.trim()}`)
}

function resultOf<Result>(schema: z.ZodType<Result>, ended: Ended): Result {
  return jsonOf(z.object({ result: schema }), ended).result
}

function jsonOf<Output>(schema: z.ZodType<Output>, { output, errors }: Ended): Output {
  if (output === "") throw new Error(`it gave no result: ${errors.trim()}`)
  return schema.parse(JSON.parse(output))
}

/** What mcpdo shows as the content of a result. */
function sentence(output: string): string {
  return /^`{3,}\n(.+)\n`{3,}$/m.exec(output)?.[1] ?? output
}
