// `npm run test:inspector`: the official inspector against a Worker of its own. Each line says what was tried and what
// came of it; the command fails when anything is not as it must be. It needs the npm registry, and passes by without.
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { makeIdentity } from "../support/identity.ts"
import { startWorker } from "../support/workerd.ts"
import { type Inspector, installInspector, VERSION } from "./inspector.ts"
import { STEPS, type Visit } from "./steps.ts"

// The inspector's daemon would outlive this process: at a signal, what was started is ended first.
let interrupted = false
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => {
    interrupted = true
  })
}

const folder = await mkdtemp(join(tmpdir(), "waxseal-inspector-"))
try {
  const inspector = await installInspector(folder)
  if (inspector) process.exitCode = (await visitWith(inspector)) ? 0 : 1
  else console.log("The npm registry cannot be reached, so there is no inspector and nothing was tested.")
} finally {
  await rm(folder, { recursive: true, force: true })
}

async function visitWith(inspector: Inspector): Promise<boolean> {
  const identity = await makeIdentity()
  const worker = await startWorker({ bindings: identity.bindings, storage: join(folder, "worker") })
  try {
    const url = `${worker.url}/mcp`
    return await show({ inspector, url, token: await identity.token({ principal: "alice", audience: url }) })
  } finally {
    await inspector.mcpdo(["daemon", "stop"])
    await worker.kill()
  }
}

/** @returns whether all is as it must be */
async function show(visit: Visit): Promise<boolean> {
  console.log(`The inspector ${VERSION}, as alice:\n`)
  let failures = 0
  for (const { title, run } of STEPS) {
    if (interrupted) return false
    try {
      console.log(`ok    ${title}\n      ${await run(visit)}`)
    } catch (error) {
      failures += 1
      console.log(`WRONG ${title}\n      ${String(error)}`)
    }
  }
  console.log(failures === 0 ? "\nAll as it must be." : `\n${failures} of these are not as they must be.`)
  return failures === 0
}
