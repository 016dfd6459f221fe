import { spawn } from "node:child_process"
import { once } from "node:events"
import { readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { z } from "zod"
import { type Bundle, writeManifest } from "../src/cli/serve/index.ts"
import { ROOT } from "./local.ts"

/** Beside the script wrangler writes what nothing runs. */
const BESIDE = /\.(map|md)$/

/**
 * Bundles a Worker with `wrangler deploy --dry-run --minify`, the very bytes that production runs, into an empty folder,
 * and writes down beside them what its wrangler configuration (a path relative to the root) binds.
 *
 * @throws with wrangler's own words when it does not bundle
 */
export async function bundleWorker(config: string, folder: string): Promise<void> {
  await runWrangler(["deploy", "--config", config, "--dry-run", "--minify", "--outdir", folder])
  const files = await readdir(folder)
  const [script, ...others] = files.filter((file) => !BESIDE.test(file))
  if (script === undefined || others.length > 0) {
    throw new Error(`${config} must bundle into one script, but made ${[script, ...others].join(", ")}.`)
  }
  for (const file of files) if (BESIDE.test(file)) await rm(join(folder, file))
  writeManifest({ folder, script, ...(await bound(config)) })
}

const Config = z.object({
  compatibility_date: z.string(),
  compatibility_flags: z.array(z.string()),
  durable_objects: z.object({ bindings: z.array(z.object({ name: z.string(), class_name: z.string() })) }),
  ratelimits: z.array(z.object({ name: z.string(), simple: z.object({ limit: z.number(), period: z.number() }) })),
})

async function bound(file: string): Promise<Omit<Bundle, "folder" | "script">> {
  const { unstable_readConfig } = await import("wrangler")
  const config = Config.parse(unstable_readConfig({ config: join(ROOT, file) }))
  return {
    compatibilityDate: config.compatibility_date,
    compatibilityFlags: config.compatibility_flags,
    objects: Object.fromEntries(config.durable_objects.bindings.map(({ name, class_name }) => [name, class_name])),
    rateLimits: Object.fromEntries(config.ratelimits.map(({ name, simple }) => [name, simple])),
  }
}

async function runWrangler(args: readonly string[]): Promise<void> {
  const wrangler = spawn(process.execPath, [join(ROOT, "node_modules/wrangler/bin/wrangler.js"), ...args], {
    cwd: ROOT,
    env: { ...process.env, WRANGLER_SEND_METRICS: "false", WRANGLER_HIDE_BANNER: "true", WRANGLER_WRITE_LOGS: "false" },
    stdio: ["ignore", "pipe", "pipe"],
  })
  let output = ""
  for (const stream of [wrangler.stdout, wrangler.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text
    })
  }
  const [code] = await once(wrangler, "close")
  if (code !== 0) throw new Error(`wrangler ${args.join(" ")} failed:\n${output}`)
}
