import { chmodSync, mkdirSync, writeFileSync } from "node:fs"
import { isIPv4, isIPv6 } from "node:net"
import { dirname, join, resolve } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { baseUrl, developmentProblem, settingNames } from "../../settings.ts"
import { VERSION } from "../../version.ts"
import { CommandError, codeOf, readFlags, shown } from "../command.ts"
import { type Bundle, readBundle } from "./bundle.ts"
import { runtimeConfig } from "./config.ts"
import { endOrphans, forgetGroup, lockFolder, nameGroup, refuseOthersFolder } from "./folder.ts"
import { whenNpmEnds } from "./npm.ts"
import { parsePort, portProblem, portTrouble } from "./port.ts"
import { type Runtime, startRuntime } from "./runtime.ts"
import { goodSettings } from "./settings.ts"
import { hangStopBell, type StopBell } from "./stop-bell.ts"

export const SERVE = "waxseal serve --data DIR [--port 8787] [--host 127.0.0.1]"

/** Calls that are under way when the server is stopped have so long to end: longer than any effect may take. */
const GRACE_SECONDS = 30
/** Signals closer together are one, which npm and the terminal both handed on. */
const TWICE_MS = 500

/** What is served: this product, or a test's Worker made of its parts. */
export interface Product {
  readonly bundle: Bundle
  /** Names of what it reads from its environment. */
  readonly settings: readonly string[]
}

interface Options {
  readonly folder: string
  readonly host: string
  readonly port: number
  /** Where it is called on this machine. */
  readonly url: URL
}

/** Runs this product on this machine, behind one's own proxy, until it is stopped. */
export async function serve(args: readonly string[]): Promise<void> {
  const folder = dirname(fileURLToPath(import.meta.resolve("#worker")))
  const bundle = readBundle(folder)
  if (!bundle) throw new CommandError(`The Worker's bundle is missing in ${shown(folder)}; make it: npm run build`)
  await serveProduct({ bundle, settings: settingNames }, args)
}

/**
 * Checks settings, folder and port, and runs the Worker with its objects on disk. Standard output is the Worker's log
 * alone; what there is to say goes to standard error. Returns when it was stopped and nothing of it runs any more.
 */
export async function serveProduct(product: Product, args: readonly string[]): Promise<void> {
  const stop = stopSignals()
  const options = readOptions(args)
  const values = chosenSettings(product.settings)
  const settings = goodSettings(values, options.url)
  const problem = developmentProblem(settings)
  if (problem !== undefined) throw new CommandError(problem)
  // All that is written from here on is for the owner alone, the runtime's files too.
  process.umask(0o077)
  refuseOthersFolder(options.folder)
  const lock = await lockFolder(options.folder, "name another folder: --data DIR")
  await endOrphans(options.folder)
  await checkPort(options)
  const bell = await hangStopBell()
  const runtime = await start(product.bundle, options, values, bell)
  try {
    nameGroup(options.folder, runtime.pid)
    if (await isUp(runtime, stop)) announce(options, baseUrl(settings, options.url))
    await untilStopped(runtime, stop, bell)
  } finally {
    runtime.process.kill("SIGKILL")
    await runtime.ended
    forgetGroup(options.folder)
    lock.close()
  }
}

function readOptions(args: readonly string[]): Options {
  const { data, port, host } = readFlags(SERVE, () => parseFlags(args)).values
  if (!data) throw new CommandError(`--data is required: the folder that holds what is stored; use: ${SERVE}`)
  const name = isIPv6(host) ? `[${host}]` : host
  // A URL has no place for the zone of an address, such as %eth0.
  if ((name === host && !isIPv4(host)) || host.includes("%")) {
    throw new CommandError(
      "--host must be an IP address of this machine without a zone, such as 127.0.0.1, or 0.0.0.0 for all.",
    )
  }
  const number = parsePort(port)
  return { folder: resolve(data), host, port: number, url: new URL(`http://${name}:${number}`) }
}

function parseFlags(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    options: {
      data: { type: "string" },
      port: { type: "string", default: "8787" },
      host: { type: "string", default: "127.0.0.1" },
    },
  })
}

/** From the environment; an empty value is none. */
function chosenSettings(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name]
      return value ? [[name, value]] : []
    }),
  )
}

async function checkPort({ host, port }: Options): Promise<void> {
  const trouble = await portTrouble(host, port)
  if (trouble !== undefined) throw new CommandError(portProblem(trouble, host, port))
}

async function start(
  bundle: Bundle,
  options: Options,
  values: Record<string, string>,
  { address: stopBell }: StopBell,
): Promise<Runtime> {
  const config = join(options.folder, "runtime.capnp")
  const storage = join(options.folder, "objects")
  try {
    mkdirSync(storage, { recursive: true })
    // A copy may have been made for more readers than what it was made of.
    chmodSync(storage, 0o700)
    writeFileSync(config, runtimeConfig(bundle, { settings: Object.keys(values), services: ["worker"], stopBell }))
  } catch (error) {
    throw new CommandError(`The folder ${shown(options.folder)} cannot be written (${codeOf(error)}).`)
  }
  return startRuntime({
    config,
    storage,
    addresses: { worker: options.url.host },
    env: { ...values, ...certificates() },
    output: "inherit",
    complaints: "inherit",
  })
}

/** Where the operator keeps the certificates of those whom the Worker calls, if not where the system has them. */
function certificates(): Record<string, string> {
  return chosenSettings(["SSL_CERT_FILE", "SSL_CERT_DIR"])
}

/** False when it was stopped or ended before it took requests. */
async function isUp({ ports }: Runtime, { asked }: Stop): Promise<boolean> {
  const found = await Promise.race([ports, asked.then(() => [])])
  return found.length > 0
}

function announce({ folder, url }: Options, base: string): void {
  console.error(`Waxseal ${VERSION} serves ${base} on ${url.host}. Ctrl-C or SIGTERM stops it: calls under way have
${GRACE_SECONDS} seconds to end, a second signal cuts them off.

  MCP endpoint  ${base}/mcp
  Sealing API   ${base}/v1
  Health        ${url.origin}/healthz
  Data          ${shown(folder)}

${nextStep(url, base)}
`)
}

function nextStep(url: URL, base: string): string {
  return base === url.origin
    ? "Clients on this machine alone may call it; set PUBLIC_URL to the origin at which your proxy takes requests."
    : `Let your proxy pass requests for ${base} to ${url.origin}, then see that it does: curl ${base}/healthz`
}

/** Resolves when the runtime has ended because it was asked to, or has had its time to. */
async function untilStopped(runtime: Runtime, { asked, insisted }: Stop, bell: StopBell): Promise<void> {
  await Promise.race([runtime.ended, asked])
  if (runtime.process.exitCode !== null || runtime.process.signalCode !== null) {
    throw new CommandError("The runtime has ended by itself; see above, and start again.")
  }
  runtime.process.kill("SIGTERM")
  bell.ring()
  await Promise.race([runtime.ended, insisted, sleep(GRACE_SECONDS * 1_000, undefined, { ref: false })])
}

interface Stop {
  /** Calls that are under way may end. */
  readonly asked: Promise<void>
  /** They may not any more. */
  readonly insisted: Promise<void>
}

function stopSignals(): Stop {
  const asked = Promise.withResolvers<void>()
  const insisted = Promise.withResolvers<void>()
  let askedAt: number | undefined
  const stop = () => {
    askedAt ??= Date.now()
    asked.resolve()
    if (Date.now() - askedAt > TWICE_MS) insisted.resolve()
  }
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, stop)
  whenNpmEnds("npx", stop)
  return { asked: asked.promise, insisted: insisted.promise }
}
