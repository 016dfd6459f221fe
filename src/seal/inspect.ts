import type { OperationId } from "../brands.ts"
import { operationOf } from "./body.ts"
import { parseToken } from "./layout.ts"
import { keyName } from "./ring.ts"

/** What anyone can read of a token. Nothing of it is proven. */
export interface PublicHeader {
  readonly suite: 1 | 2
  /** As `/v1` and `listKeys` show it. */
  readonly keyId: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  /** The operation's id, if this is its first token; later ones carry it inside. */
  readonly beginsOperation: OperationId
}

/**
 * Reads the header of a token without any key; `undefined` for what is no token.
 *
 * @example
 * readHeader(token)?.keyId // "4daa253f"
 */
export function readHeader(token: string): PublicHeader | undefined {
  const parsed = parseToken(token)
  if (!parsed) return undefined
  const { suite, keyId, expiresAt, nonce } = parsed.fields
  return { suite: suite.number, keyId: keyName(keyId), expiresAt, beginsOperation: operationOf(nonce) }
}
