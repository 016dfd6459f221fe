import { batch } from "./batch.ts"
import type { Endpoint } from "./endpoint.ts"
import { keys } from "./keys.ts"
import { begin } from "./operations/begin.ts"
import { complete, fail, renew } from "./operations/end.ts"
import { read } from "./operations/read.ts"
import { resolve } from "./operations/resolve.ts"
import { open } from "./state/open.ts"
import { redeem } from "./state/redeem.ts"
import { seal } from "./state/seal.ts"

/** All of `/v1`. */
export const ENDPOINTS: readonly Endpoint[] = [
  seal,
  open,
  redeem,
  batch,
  keys,
  begin,
  complete,
  fail,
  renew,
  resolve,
  read,
]
