import type { Identity } from "../auth/index.ts"
import type { RuntimeParts } from "../operation/index.ts"

/** One HTTP request at `/mcp`, after everything about it that stands in front of the SDK has been proven. */
export interface Exchange {
  readonly identity: Identity
  /** What access tokens for this endpoint are issued for, and what state is bound to. */
  readonly audience: string
  /** The parsed body: header checks, digests and execution all read this one value. */
  readonly body: unknown
  readonly parts: RuntimeParts
}
