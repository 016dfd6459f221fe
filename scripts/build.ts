// `npm run build`: the Worker as it is deployed, in `dist/worker`, for `waxseal serve`. The package brings it.
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { ROOT } from "./local.ts"
import { bundleWorker } from "./worker-bundle.ts"

const folder = join(ROOT, "dist/worker")
await rm(folder, { recursive: true, force: true })
await bundleWorker("wrangler.toml", folder)
