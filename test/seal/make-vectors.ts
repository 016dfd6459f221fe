// After a change of the format: `node test/seal/make-vectors.ts && npm run format` remakes the outputs of
// docs/vectors.json from its inputs. A new vector is made by adding one with any output; the test suite refuses a file that was not remade.
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { remake, Vectors } from "./vector-maker.ts"

const FILE = join(import.meta.dirname, "../../docs/vectors.json")

const vectors = Vectors.parse(JSON.parse(readFileSync(FILE, "utf8")))
writeFileSync(FILE, `${JSON.stringify(await remake(vectors), null, 2)}\n`)
