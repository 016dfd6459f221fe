// `waxseal serve` for a bundle that is none of the product: made of its parts, with doors for a test. Arguments: the
// bundle's folder, a JSON list of what it reads from the environment, and then those of the command.
import { z } from "zod"
import { runCommand } from "../../src/cli/command.ts"
import { readBundle, serveProduct } from "../../src/cli/serve/index.ts"

const [folder = "", settings = "[]", ...args] = process.argv.slice(2)
const bundle = readBundle(folder)
if (!bundle) throw new Error(`There is no bundle in ${folder}.`)
const product = { bundle, settings: z.array(z.string()).parse(JSON.parse(settings)) }
await runCommand(() => serveProduct(product, args))
