// What wrangler makes of a configuration file, as far as this project has something to say to it.
import { z } from "zod"
import { CommandError } from "../../src/cli/command.ts"
import type { Bound, Limit } from "./bindings.ts"
import { refuseSecrets } from "./secrets.ts"
import { askedFlags, type Target } from "./target.ts"

const Limits = z.array(z.object({ name: z.string(), namespace_id: z.string() })).default([])

const Route = z.union([
  z.string().transform((pattern) => ({ pattern, isDomain: false })),
  z
    .object({ pattern: z.string(), custom_domain: z.boolean().default(false) })
    .transform(({ pattern, custom_domain: isDomain }) => ({ pattern, isDomain })),
])

const Config = z.object({
  name: z.string(),
  vars: z.record(z.string(), z.unknown()),
  secrets: z.object({ required: z.array(z.string()).default([]) }).default({ required: [] }),
  durable_objects: z.object({ bindings: z.array(z.object({ name: z.string(), class_name: z.string() })) }),
  ratelimits: Limits,
  workers_dev: z.boolean().optional(),
  route: Route.optional(),
  routes: z.array(Route).default([]),
})

export type Route = z.infer<typeof Route>

const Vars = z.record(z.string(), z.unknown()).default({})

/** The file as it was written, before one table is taken for another. */
const Raw = z.object({
  vars: Vars,
  ratelimits: Limits,
  env: z
    .record(
      z.string(),
      z.object({ vars: Vars, ratelimits: Limits, route: z.unknown().optional(), routes: z.unknown().optional() }),
    )
    .default({}),
})

export interface Config {
  readonly name: string
  readonly vars: Readonly<Record<string, unknown>>
  readonly requiredSecrets: readonly string[]
  /** The objects and limits that are bound. */
  readonly bound: readonly Bound[]
  /** Those of the whole file, its other environments too. */
  readonly limits: readonly Limit[]
  readonly routes: readonly Route[]
  /** An environment that says nothing of routes has those of the file's top. */
  readonly inheritsRoutes: boolean
  readonly workersDev: boolean
}

/** @throws a CommandError where the file cannot be read, has no such environment, or has a secret among its settings */
export async function readConfig(target: Target): Promise<Config> {
  const { experimental_readRawConfig, unstable_readConfig } = await import("wrangler")
  const {
    vars,
    ratelimits,
    env: environments,
  } = understand(target, () => Raw.parse(experimental_readRawConfig({ config: target.path }).rawConfig))
  checkEnvironment(target, Object.keys(environments))
  const own = target.env === undefined ? undefined : environments[target.env]
  // Wrangler would refuse it, too, in words of its own: it is required as a secret.
  refuseSecrets(vars, { ...target, env: undefined })
  refuseSecrets(own?.vars ?? {}, target)
  const config = understand(target, () =>
    // Wrangler says again what it has to warn of, when it deploys.
    Config.parse(unstable_readConfig({ config: target.path, env: target.env ?? "" }, { hideWarnings: true })),
  )
  const routes = [...config.routes, ...(config.route === undefined ? [] : [config.route])]
  return {
    name: config.name,
    vars: config.vars,
    requiredSecrets: [...new Set(["SEAL_KEYS", ...config.secrets.required])],
    bound: [
      ...config.durable_objects.bindings.map(({ name, class_name: className }) => ({ name, className })),
      ...config.ratelimits.map(({ name }) => ({ name })),
    ],
    limits: [
      ...limitsOf(undefined, ratelimits),
      ...Object.entries(environments).flatMap(([env, its]) => limitsOf(env, its.ratelimits)),
    ],
    routes,
    inheritsRoutes: own !== undefined && own.routes === undefined && own.route === undefined,
    workersDev: config.workers_dev ?? routes.length === 0,
  }
}

function limitsOf(env: string | undefined, limits: z.infer<typeof Limits>): Limit[] {
  return limits.map(({ name, namespace_id: id }) => ({ env, name, id }))
}

function understand<Result>(target: Target, read: () => Result): Result {
  try {
    return read()
  } catch {
    const look = `npx wrangler deploy --dry-run${askedFlags(target)}`
    throw new CommandError(`${target.file} is no configuration that can be deployed; see: ${look}`)
  }
}

/** Wrangler would deploy the file's top, by another name. */
function checkEnvironment({ file, env }: Target, environments: readonly string[]): void {
  if (env === undefined || environments.includes(env)) return
  const instead = environments.length === 0 ? "name none" : `name one that is there: ${environments.join(", ")}`
  throw new CommandError(`${file} has no environment ${env}; write [env.${env}] with all it needs, or ${instead}.`)
}
