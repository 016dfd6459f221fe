/**
 * The sealing API for servers elsewhere, in any runtime that has `fetch`.
 * Knows the API's wire and nothing of what stands behind it: no keys, no ledger, no MCP. The codec beside it is a door of
 * its own, `waxseal/codec`, for those who bring the official SDK.
 *
 * @module waxseal/client
 */
export type { Json } from "../brands.ts"
export type {
  Begun,
  Completed,
  Ended,
  Failed,
  KeyListing,
  Opened,
  Redeemed,
  Renewed,
  Sealed,
  Standing,
} from "./answers.ts"
export type { BatchResult } from "./batch.ts"
export { type Client, createClient, type Operations } from "./client.ts"
export { OperationFailure, WaxsealError, type WaxsealErrorCode, type WaxsealErrorDetails } from "./errors.ts"
export type { CallOptions, ClientOptions } from "./http.ts"
export type * from "./requests.ts"
export type { RunOptions, Work, Working } from "./run.ts"
