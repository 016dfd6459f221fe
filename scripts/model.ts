// `npm run model`: checks docs/model/ledger.pml with the model checker spin, as it is and with faults built in. It needs
// spin and a C compiler and installs neither.
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const MODEL = join(import.meta.dirname, "../docs/model/ledger.pml")
const POLICIES = ["REPORT", "RERUN"]
/** Each with a policy under which it must be found. */
const FAULTS = [
  ["BROKEN_CLAIM", "REPORT"],
  ["BROKEN_SWEEP", "REPORT"],
  ["BROKEN_CLOCK", "REPORT"],
  ["BROKEN_RECORD", "RERUN"],
  ["BROKEN_RELEASE", "RERUN"],
] as const

type Verdict = "holds" | "is broken"

const missing = ["spin", "cc"].filter((tool) => spawnSync(tool, ["--version"]).error)
if (missing.length > 0) {
  console.error(`The model needs ${missing.join(" and ")}; install it, on Debian with: apt-get install spin gcc.`)
  process.exit(1)
}
const wrong = [
  ...POLICIES.filter((policy) => !expect("holds", policy)),
  ...FAULTS.filter(([fault, policy]) => !expect("is broken", policy, fault)),
]
process.exitCode = wrong.length === 0 ? 0 : 1

function expect(expected: Verdict, policy: string, fault?: string): boolean {
  const { verdict, states } = check([`-DPOLICY=${policy}`, ...(fault === undefined ? [] : [`-D${fault}`])])
  const right = verdict === expected
  console.log(`${right ? "ok   " : "WRONG"} ${policy} ${fault ?? "as it is"}: ${verdict} (${states} states)`)
  return right
}

/** Searches all states, in a folder of its own because spin writes where it runs. */
function check(defines: readonly string[]): { readonly verdict: Verdict; readonly states: string } {
  const folder = mkdtempSync(join(tmpdir(), "waxseal-model-"))
  try {
    run(folder, "spin", [...defines, "-a", MODEL])
    run(folder, "cc", ["-O2", "-DSAFETY", "-DCOLLAPSE", "-o", "pan", "pan.c"])
    const found = run(folder, "./pan", ["-m1000000"])
    const [, errors] = /errors: (\d+)/.exec(found) ?? []
    const [, states = "?"] = /(\d+) states, stored/.exec(found) ?? []
    if (errors === undefined || /max search depth too small/.test(found)) throw new Error(`spin did not end:\n${found}`)
    return { verdict: errors === "0" ? "holds" : "is broken", states }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function run(cwd: string, command: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8" })
  if (error) throw error
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed:\n${stdout}${stderr}`)
  return stdout
}
