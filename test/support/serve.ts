import { spawn } from "node:child_process"
import { once } from "node:events"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { z } from "zod"
import { type Bundle, ROOT } from "./bundle.ts"
import { freePort } from "./port.ts"
import type { Running } from "./workerd.ts"

/** The command as it stands in this checkout, and in the package. */
const MAIN = join(ROOT, "src/cli/main.ts")
/** The same command for another bundle. */
const WITH_BUNDLE = join(ROOT, "test/support/serve-bundle.ts")

const READY = /^Waxseal .* serves .*\n[\s\S]*\n\n.*\n\n/m

export interface ServeOptions {
  /** Settings of the Worker by name. */
  readonly bindings: Readonly<Record<string, string>>
  /** The folder that the command keeps. */
  readonly data: string
  /** Default: a free one. */
  readonly port?: number
  /** Default: what the command serves by itself. */
  readonly bundle?: Bundle
  /** Default: the command of this checkout. */
  readonly main?: string
}

/**
 * Runs `waxseal serve` as a process of its own, and resolves when it takes requests.
 *
 * @throws with the command's own words when it does not
 */
export async function startServe(options: ServeOptions): Promise<Running> {
  const { bindings, data, port = await freePort(), bundle, main = MAIN } = options
  const command = bundle ? [WITH_BUNDLE, bundle.folder, JSON.stringify(Object.keys(bindings))] : [main, "serve"]
  const child = spawn(process.execPath, [...command, "--data", data, "--port", String(port)], {
    env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: join(tmpdir(), "waxseal-compiled"), ...bindings },
    stdio: ["ignore", "pipe", "pipe"],
  })
  // The runtime holds both streams, too: they close when it has ended as well.
  const ended = once(child, "close")
  let output = ""
  const ready = new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (chunk: string) => {
        output += chunk
        if (READY.test(output)) resolve()
      })
    }
    child.once("close", () => reject(new Error(`waxseal serve ended before it took requests:\n${output}`)))
  })
  await ready
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    await ended
  }
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    urls: [url],
    port,
    pid: z.number().parse(child.pid),
    logs: () => output,
    stop: () => end("SIGTERM"),
    kill: () => end("SIGKILL"),
  }
}
