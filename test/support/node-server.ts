import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { createInterface } from "node:readline"

/** Starts `examples/node-server` from its folder, and gives the URL of its proxy. */
export async function startNodeServer(
  folder: string,
  settings: Readonly<Record<string, string>>,
  nodeArguments: readonly string[] = [],
): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> {
  const server = spawn(process.execPath, [...nodeArguments, join(folder, "src/main.ts")], {
    cwd: folder,
    env: { PATH: process.env["PATH"], PORT: "0", ...settings },
    stdio: ["ignore", "pipe", "inherit"],
  })
  const ended = once(server, "close")
  const stop = async () => {
    server.kill("SIGTERM")
    await ended
  }
  const [url] = await Promise.race([
    once(createInterface(server.stdout), "line"),
    ended.then(() => Promise.reject(new Error("The server ended before it listened."))),
  ])
  return { url: String(url), stop }
}
