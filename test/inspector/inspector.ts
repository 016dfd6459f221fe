import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"

const PACKAGE = "@modelcontextprotocol/inspector"

/** The inspector that is installed. */
export const VERSION = "2.12.0"

/** A command takes seconds, the installation up to half a minute; what hangs must not hold the run. */
const PATIENCE_MILLISECONDS = 120_000

/** What npm calls it when there is no way to the registry, as distinct from an answer of the registry that is no. */
const UNREACHABLE = new Set([
  "EAI_AGAIN",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "ERR_SOCKET_TIMEOUT",
  "ETIMEDOUT",
  "FETCH_ERROR",
])

/** How a command ended: null is the exit code of one that was stopped. */
export interface Ended {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

/** The official inspector: `mcp-inspector --cli` for one request, `mcpdo` for a connection that is kept. */
export interface Inspector {
  cli(args: readonly string[]): Promise<Ended>
  mcpdo(args: readonly string[]): Promise<Ended>
  /** As `mcpdo` for a person at a terminal, who types these lines when asked. What the person sees is in `errors`. */
  mcpdoTyping(lines: readonly string[], args: readonly string[]): Promise<Ended>
}

/**
 * Installs the inspector into a folder, where it also keeps its own files; nobody's own inspector is touched.
 *
 * @returns nothing when the registry cannot be reached
 * @throws with npm's own words when the registry can be reached and the inspector cannot be installed
 */
export async function installInspector(folder: string): Promise<Inspector | undefined> {
  const options = ["--prefix", folder, "--ignore-scripts", "--prefer-offline", "--json"]
  const patience = ["--fetch-retries", "1", "--fetch-timeout", "20000"]
  const npm = await run("npm", ["install", `${PACKAGE}@${VERSION}`, ...options, ...patience], process.env)
  if (npm.code === 0) return inspectorIn(folder)
  if (UNREACHABLE.has(errorCodeIn(npm.output))) return undefined
  throw new Error(`npm did not install ${PACKAGE} ${VERSION}:\n${npm.errors}`)
}

function errorCodeIn(output: string): string {
  return /"code": "(\w+)"/.exec(output)?.[1] ?? ""
}

/** mcpdo shows its form when one of the standard streams is a terminal, and reads the answers from any stream. */
const AT_A_TERMINAL = ["--import", "data:text/javascript,process.stderr.isTTY=true"]

function inspectorIn(folder: string): Inspector {
  const bin = (name: string) => join(folder, "node_modules/.bin", name)
  const environment = {
    PATH: process.env["PATH"],
    HOME: folder,
    MCP_STORAGE_DIR: join(folder, "storage"),
    MCP_INSPECTOR_SECRET_STORE: "file",
  }
  const node = (args: readonly string[], typed = "") => run(process.execPath, args, environment, typed)
  return {
    cli: (args) => node([bin("mcp-inspector"), "--cli", ...args]),
    mcpdo: (args) => node([bin("mcpdo"), ...args]),
    mcpdoTyping: (lines, args) =>
      node([...AT_A_TERMINAL, bin("mcpdo"), "--plain", ...args], lines.map((line) => `${line}\n`).join("")),
  }
}

async function run(file: string, args: readonly string[], env: NodeJS.ProcessEnv, typed = ""): Promise<Ended> {
  const child = spawn(file, args, { env, timeout: PATIENCE_MILLISECONDS })
  const [output, errors] = [textOf(child.stdout), textOf(child.stderr)]
  child.stdin.end(typed)
  const [code] = await once(child, "close")
  return { code, output: output(), errors: errors() }
}

function textOf(stream: NodeJS.ReadableStream): () => string {
  let text = ""
  stream.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk
  })
  return () => text
}
