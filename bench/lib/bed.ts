import { mkdir, mkdtemp, rm } from "node:fs/promises"
import { join } from "node:path"
import { type Bundle, ROOT } from "../../test/support/bundle.ts"
import { makeIdentity } from "../../test/support/identity.ts"
import { type Running, startWorker } from "../../test/support/workerd.ts"
import { type LoadGenerator, startLoadGenerator } from "./load.ts"

/** The origin by which all Workers under test are known, so that one token fits them all. */
const PUBLIC_URL = "https://waxseal.example"

export interface Bed {
  readonly load: LoadGenerator
  /** Good at every Worker of this bed. */
  readonly token: string
  /** One for another endpoint of every Worker of this bed. */
  tokenFor(path: string, scope: string): Promise<string>
  /** Starts a bundle in a workerd of its own, with a fresh folder on disk. `settings` are beside those that all get. */
  start(bundle: Bundle, settings?: Readonly<Record<string, string>>): Promise<Running>
}

/** Lends what a measurement needs, and leaves no process and no file behind. */
export async function onBed<Result>(measure: (bed: Bed) => Promise<Result>): Promise<Result> {
  await mkdir(join(ROOT, "dist"), { recursive: true })
  const folder = await mkdtemp(join(ROOT, "dist/bench-"))
  const identity = await makeIdentity()
  const token = await identity.token({ principal: "bench", audience: `${PUBLIC_URL}/mcp` })
  const tokenFor: Bed["tokenFor"] = (path, scope) =>
    identity.token({ principal: "bench", audience: `${PUBLIC_URL}${path}`, scope })
  const workers: Running[] = []
  const load = startLoadGenerator()
  const start: Bed["start"] = async (bundle, settings = {}) => {
    const storage = join(folder, String(workers.length))
    const bindings = { ...identity.bindings, PUBLIC_URL, ...settings }
    const worker = await startWorker({ bundle, bindings, storage, keepLogs: false })
    workers.push(worker)
    return worker
  }
  try {
    return await measure({ load, token, tokenFor, start })
  } finally {
    load.stop()
    await Promise.all(workers.map((worker) => worker.kill()))
    await rm(folder, { recursive: true, force: true })
  }
}
