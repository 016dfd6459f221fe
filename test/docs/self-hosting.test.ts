// examples/self-hosted: the unit, as far as it can be judged without being installed.
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { readPage } from "./page.ts"

/** Of 100, as `systemd-analyze security` counts; a unit without any restriction has 96. */
const MOST_EXPOSURE = 15

/** Before 250 it judges installed units alone. */
const CAN_JUDGE =
  Number(/^systemd (\d+)/.exec(spawnSync("systemd-analyze", ["--version"]).stdout?.toString())?.[1]) >= 250

it.skipIf(!CAN_JUDGE)("systemd finds nothing wrong with the unit, and little exposed", () => {
  const folder = mkdtempSync(join(tmpdir(), "waxseal-unit-"))
  const file = join(folder, "waxseal.service")
  // This machine may have its Node elsewhere, and systemd looks whether it is there.
  writeFileSync(file, readPage("examples/self-hosted/waxseal.service").replace("/usr/bin/node", process.execPath))
  const { stderr, status } = spawnSync("systemd-analyze", ["verify", file])
  expect({ said: stderr.toString(), status }).toEqual({ said: "", status: 0 })
  execFileSync("systemd-analyze", ["security", "--offline=yes", `--threshold=${MOST_EXPOSURE}`, file])
  rmSync(folder, { recursive: true })
})
