import { join } from "node:path"
import type { Bundle } from "./bundle.ts"
import { RATE_LIMIT, RATE_LIMIT_MODULE } from "./rate-limit.ts"

/** What a configuration says beside the bundle. */
interface ConfigOptions {
  /** Names of the settings that are set: the Worker gets their values from the runtime's environment. */
  readonly settings: readonly string[]
  /** Default: those of the bundle. */
  readonly rateLimits?: Bundle["rateLimits"]
  /** A service and a socket a name, each with isolates of its own, that share the objects of the first. */
  readonly services: readonly [string, ...string[]]
  /** The address of a bell that rings before the runtime is stopped; default: none, and streams hold a stop. */
  readonly stopBell?: string
}

/** The binding under which a Worker asks for the bell. */
const STOP = "STOP"

/**
 * A configuration of workerd (in the schema of its workerd.capnp) that runs a bundle with its objects on the disk called
 * `storage`. No value of a setting stands in it.
 */
export function runtimeConfig(bundle: Bundle, options: ConfigOptions): string {
  const { services, stopBell } = options
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    ${services.map((name) => service(name, bundle, options)).join(",\n    ")},
    (name = "storage", disk = (writable = true)),${stopBell === undefined ? "" : `\n    ${bell(stopBell)},`}
    # An issuer's keys and a model may lie on this machine or in its network, too.
    (name = "internet", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true))),
  ],
  sockets = [${services.map((name) => `(name = ${quote(name)}, service = ${quote(name)})`).join(", ")}],
  extensions = [(modules = [(name = ${quote(RATE_LIMIT_MODULE)}, internal = true, esModule = ${quote(RATE_LIMIT)})])],
);
`
}

function service(name: string, bundle: Bundle, options: ConfigOptions): string {
  return `(name = ${quote(name)}, worker = (
      modules = [(name = "worker.js", esModule = embed ${quote(join(bundle.folder, bundle.script))})],
      compatibilityDate = ${quote(bundle.compatibilityDate)},
      compatibilityFlags = [${bundle.compatibilityFlags.map(quote).join(", ")}],
      bindings = [
        ${bindings(bundle, options).join(",\n        ")}
      ],
      ${name === options.services[0] ? objects(bundle) : ""}
    ))`
}

function bell(address: string): string {
  return `(name = ${quote(STOP)}, external = (address = ${quote(address)}, http = ()))`
}

function bindings(bundle: Bundle, options: ConfigOptions): string[] {
  const { settings, rateLimits = bundle.rateLimits, services, stopBell } = options
  return [
    ...(stopBell === undefined ? [] : [`(name = ${quote(STOP)}, service = ${quote(STOP)})`]),
    ...settings.map((setting) => `(name = ${quote(setting)}, fromEnvironment = ${quote(setting)})`),
    ...Object.entries(rateLimits).map(([binding, { limit, period }]) => {
      const numbers = `(name = "limit", json = "${limit}"), (name = "period", json = "${period}")`
      return `(name = ${quote(binding)}, wrapped = (moduleName = ${quote(RATE_LIMIT_MODULE)}, innerBindings = [${numbers}]))`
    }),
    ...Object.entries(bundle.objects).map(([binding, className]) => {
      const namespace = `(className = ${quote(className)}, serviceName = ${quote(services[0])})`
      return `(name = ${quote(binding)}, durableObjectNamespace = ${namespace})`
    }),
  ]
}

/** The key of a class is part of its objects' names on disk: it stays as it is as long as their data shall. */
function objects(bundle: Bundle): string {
  const namespaces = Object.values(bundle.objects).map(
    (className) => `(className = ${quote(className)}, uniqueKey = ${quote(className)}, enableSql = true)`,
  )
  return `durableObjectNamespaces = [${namespaces.join(", ")}],
      durableObjectStorage = (localDisk = "storage"),`
}

/** JSON strings of names, paths, dates and flags are Cap'n Proto strings too. */
function quote(text: string): string {
  return JSON.stringify(text)
}
