// `waxseal serve`, and what every server on one machine needs: a folder of its own, a port, and the runtime on disk.
// It runs bundles that were built before, and tells how they came up and how they ended.
// It must not know what the Worker inside does: which settings it has and which are good, it asks src/settings.ts.
export { type Bundle, readBundle, writeManifest } from "./bundle.ts"
export { runtimeConfig } from "./config.ts"
export { endOrphans, forgetGroup, lockFolder, nameGroup } from "./folder.ts"
export { whenNpmEnds } from "./npm.ts"
export { parsePort, portTrouble } from "./port.ts"
export { startRuntime } from "./runtime.ts"
export { SERVE, serve, serveProduct } from "./serve.ts"
export { goodSettings } from "./settings.ts"
