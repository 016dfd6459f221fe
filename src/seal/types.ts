import type { Json, OperationId, Principal, TenantId, Token } from "../brands.ts"

/** What a token is for. Fixed in code, apart in key derivation, in the associated data and in ledger names. */
export type Purpose = "mcp" | "api" | "result" | "session"

/** Where an operation's record lives: indexes, chosen at the first seal and copied by every later round. */
export interface Home {
  /** 0..255, an index into the ledger's list of regions. */
  readonly region: number
  /** 0..65535 */
  readonly shard: number
}

/** What a token is bound to. It travels in the associated data and costs no bytes; absent is not empty. */
export interface Binding {
  readonly tenant: TenantId
  readonly audience?: string
  readonly principal: Principal
  /** The MCP method, such as `tools/call`. */
  readonly method: string
  /** The tool's or prompt's name, or the resource's URI. */
  readonly target: string
  /** SHA-256 of the arguments in RFC 8785 form; absent where the request has none. */
  readonly argumentsDigest?: Uint8Array
}

/** What a token says. Times are milliseconds since 1970. */
export interface Contents {
  readonly operation: OperationId
  /** 1 for the first question. */
  readonly round: number
  /** The highest round that the operation may reach; absent where its own code says so. */
  readonly roundLimit?: number
  readonly issuedAt: number
  readonly expiresAt: number
  /** No token of the operation is valid after this time. */
  readonly deadline: number
  readonly home: Home
  /** 8-byte digest of what was asked. */
  readonly asked?: Uint8Array
  readonly state: Json
}

/** What a new token shall say. Without `operation` the token begins one, and its nonce becomes the id. */
export type Draft = Omit<Contents, "operation"> & { readonly operation?: OperationId }

/** A new token, and the operation that it belongs to. */
export interface Sealed {
  readonly token: Token
  readonly operation: OperationId
}

/** Why a token did not open, in the order of precedence. For the operator only: on the wire they are all the same. */
export type Reason = "malformed" | "unknown_key" | "expired" | "principal" | "audience" | "request" | "forged"

/** What a token says, or why it does not open. `needsReseal`: its key is not the one that seals now. */
export type Opened =
  | { readonly ok: true; readonly contents: Contents; readonly keyId: string; readonly needsReseal: boolean }
  /** Authentic and bound to this very request, but past its time: it can look up an outcome and never claim one. */
  | { readonly ok: false; readonly reason: "expired"; readonly authentic?: Contents }
  | { readonly ok: false; readonly reason: Exclude<Reason, "expired"> }

/** Seals and opens tokens of one purpose. */
export interface Sealer {
  /** Rejects with `SealError` for what no token can carry, and when no key seals now. */
  seal(binding: Binding, draft: Draft): Promise<Sealed>
  /** Opens for the very binding it was sealed for. Never rejects. */
  open(binding: Binding, token: string): Promise<Opened>
}
