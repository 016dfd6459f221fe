// `npm start`: runs the server in a process group of its own and sees to it that nothing of it outlives this process.
// The runtime does not notice when its parent dies, and an orphan would keep the port and write to the state. So the
// server ends when the channel to this process closes, however that comes about; and when the server dies, this
// process ends what is left of its group.
import { type ChildProcess, fork, spawn } from "node:child_process"
import { join } from "node:path"
import { whenNpmEnds } from "../src/cli/serve/index.ts"

/** Settings of the runtime's tools, read when they load: no look-ups, no metrics, no files of logs or traces. */
const QUIET = {
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
  CLOUDFLARE_LOAD_DEV_VARS_FROM_DOT_ENV: "false",
  WRANGLER_SEND_METRICS: "false",
  WRANGLER_WRITE_LOGS: "false",
  X_LOCAL_EXPLORER: "false",
  X_LOCAL_OBSERVABILITY: "false",
}

/** A server that was asked to end has this time: requests that are under way may finish. */
const PATIENCE_MS = 10_000
/** Signals closer together are one, which npm and the terminal both handed on. */
const TWICE_MS = 500

let askedAt: number | undefined

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, stop)

const server = fork(join(import.meta.dirname, "serve.ts"), process.argv.slice(2), {
  detached: true,
  env: { ...process.env, ...QUIET },
  stdio: ["ignore", "inherit", "inherit", "ipc"],
})
const guard = guardGroup(server)
server.on("exit", (code) => {
  guard?.kill()
  endGroup(server)
  process.exit(code ?? 1)
})

whenNpmEnds("start", stop)

/** Asks the server to end. It is not asked a second time, and not waited for: one signal may arrive twice by way of npm. */
function stop(): void {
  const now = Date.now()
  if (askedAt === undefined) {
    askedAt = now
    if (server.connected) server.disconnect()
    setTimeout(() => endGroup(server), PATIENCE_MS)
  } else if (now - askedAt > TWICE_MS) {
    endGroup(server)
  }
}

/**
 * Outlives every Node process, should all be killed at once: when this process is gone and the server too, or does not
 * end within two seconds, it ends the runtime, which would go on serving on the state.
 */
function guardGroup({ pid }: ChildProcess): ChildProcess | undefined {
  if (pid === undefined || process.platform === "win32") return undefined
  const script = `read -r _; n=0
    while kill -0 "$1" && [ $n -lt 20 ]; do sleep 0.1; n=$((n+1)); done 2>/dev/null
    kill -s KILL -- "-$1"`
  return spawn("sh", ["-c", script, "guard", String(pid)], { detached: true, stdio: ["pipe", "ignore", "ignore"] })
}

/** Where there are process groups; on Windows the runtime of a killed server has to be ended by hand. */
function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined || process.platform === "win32") return
  try {
    process.kill(-pid, "SIGKILL")
  } catch {
    // Nobody is left in it.
  }
}
