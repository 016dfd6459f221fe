// Whoever reads a page and types what stands there: in a folder of their own, or in a copy of the project.
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, delimiter, join } from "node:path"
import { ROOT } from "../support/bundle.ts"

export interface Newcomer {
  readonly folder: string
  /** Runs a block and gives all that it printed; rejects where it fails. */
  sh(block: string, env?: Readonly<Record<string, string>>): Promise<string>
  /** Runs a block that goes on until it is stopped. */
  begin(block: string, env?: Readonly<Record<string, string>>): Begun
  /** The ring that was deployed last. */
  deployedRing(): string
  leave(): void
}

export interface Begun {
  printed(): string
  stop(): Promise<void>
}

/** Makes one in an empty folder, or in a copy of the project with all that `npm ci` brings. */
export function newcomer(at: "an empty folder" | "a copy"): Newcomer {
  const home = mkdtempSync(join(tmpdir(), "waxseal-docs-"))
  const folder = join(home, "work")
  if (at === "a copy") copyProject(folder)
  else mkdirSync(folder)
  const deployed = join(home, "deployed")
  const env = {
    HOME: home,
    DEPLOYED: deployed,
    PATH: [tools(home), BIN, process.env["PATH"]].join(delimiter),
    ...QUIET,
  }

  function run(
    block: string,
    more: Readonly<Record<string, string>>,
  ): ChildProcess & { readonly printed: () => string } {
    const child = spawn("sh", ["-euc", block], { cwd: folder, env: { ...env, ...more }, detached: true })
    let text = ""
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (text += chunk))
    return Object.assign(child, { printed: () => text })
  }

  return {
    folder,
    async sh(block, more = {}) {
      const child = run(block, more)
      const [code] = await once(child, "close")
      if (code !== 0) throw new Error(`A block failed with ${code}:\n${block}\n${child.printed()}`)
      return child.printed()
    },
    begin(block, more = {}) {
      const child = run(block, more)
      const closed = once(child, "close")
      return {
        printed: child.printed,
        async stop() {
          if (child.pid !== undefined) process.kill(-child.pid, "SIGTERM")
          await closed
        },
      }
    },
    deployedRing: () => readFileSync(deployed, "utf8"),
    leave: () => rmSync(home, { recursive: true, force: true }),
  }
}

const BIN = join(ROOT, "node_modules/.bin")
const QUIET = {
  WRANGLER_SEND_METRICS: "false",
  WRANGLER_HIDE_BANNER: "true",
  WRANGLER_WRITE_LOGS: "false",
  NO_COLOR: "1",
}

function copyProject(folder: string): void {
  cpSync(ROOT, folder, { recursive: true, filter: isOfTheProject })
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"))
}

const NOT_COPIED = ["node_modules", "dist", "coverage", ".git", ".wrangler"]

function isOfTheProject(file: string): boolean {
  return !NOT_COPIED.includes(basename(file)) && !basename(file).startsWith(".dev.")
}

/** `waxseal` as if it were installed; and in place of an account, a file that takes the ring that is deployed. */
function tools(home: string): string {
  const folder = join(home, "bin")
  const files = {
    waxseal: `exec node ${join(ROOT, "src/cli/main.ts")} "$@"`,
    npx: `[ "$*" = "wrangler secret put SEAL_KEYS" ] && exec cat > "$DEPLOYED"; PATH="\${PATH#*:}" exec npx "$@"`,
  }
  mkdirSync(folder)
  for (const [name, script] of Object.entries(files)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  }
  return folder
}
