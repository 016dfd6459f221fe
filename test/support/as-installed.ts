// `node --import` of this file resolves the package's entries to their sources, as if they were installed.
import { registerHooks } from "node:module"
import { pathToFileURL } from "node:url"
import { ROOT } from "./bundle.ts"

const ENTRIES = new Map([
  ["waxseal/client", "src/client/index.ts"],
  ["waxseal/codec", "src/client/codec.ts"],
  ["waxseal/seal", "src/seal/index.ts"],
])

registerHooks({
  resolve(specifier, context, next) {
    const source = ENTRIES.get(specifier)
    return next(source === undefined ? specifier : pathToFileURL(`${ROOT}/${source}`).href, context)
  },
})
