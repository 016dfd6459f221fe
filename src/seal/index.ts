/**
 * Seals `requestState` into tokens and stored results into boxes, and opens them for whom they were sealed.
 * Pure: no I/O, and clock and randomness come from the caller. It must not know of HTTP, MCP, the ledger or settings
 * beyond the text of `SEAL_KEYS`.
 *
 * @module waxseal/seal
 */
export type { Json, OperationId, Principal, TenantId, Token } from "../brands.ts"
export { base64UrlToBytes, bytesToBase64Url } from "./base64url.ts"
export { SealError, type SealErrorCode } from "./errors.ts"
export { type PublicHeader, readHeader } from "./inspect.ts"
export { canonicalJson, digestArguments, stateProblem } from "./json.ts"
export {
  BOUND_LIMIT_CHARACTERS,
  CLOCK_SKEW_SECONDS,
  LONGEST_DEADLINE_SECONDS,
  LONGEST_TTL_SECONDS,
  LOOKUP_SECONDS,
  RESULT_LIMIT_BYTES,
  STATE_LIMIT_BYTES,
  TENANT_LIMIT_BYTES,
} from "./limits.ts"
export { pae } from "./pae.ts"
export { DEVELOPMENT_KEY_PREFIX, parseKeyRing } from "./parse-ring.ts"
export { createPseudonyms, type Pseudonyms } from "./pseudonyms.ts"
export { createResultBox, type ResultBinding, type ResultBox } from "./result.ts"
export { isDevelopmentRing, type KeyListing, type KeyRing, listKeys, ringProblem } from "./ring.ts"
export {
  DEFAULT_ROUNDS,
  DEFAULT_TTL_SECONDS,
  firstRound,
  MOST_ROUNDS,
  nextRound,
  SHORTEST_DEFAULT_DEADLINE_SECONDS,
} from "./rounds.ts"
export { createSealer, type SealerOptions } from "./sealer.ts"
export type { Binding, Contents, Draft, Home, Opened, Purpose, Reason, Sealed, Sealer } from "./types.ts"
