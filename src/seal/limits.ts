/** The longest time from a token's issue to its expiry, in seconds. */
export const LONGEST_TTL_SECONDS = 86_400

/** The longest time from an operation's first question to its deadline, in seconds. */
export const LONGEST_DEADLINE_SECONDS = 86_400

/** How long after the deadline an authentic expired token may still look up what was recorded, in seconds. */
export const LOOKUP_SECONDS = 3_600

/** How far two clocks of one deployment may be apart, in seconds. It delays no expiry: it only bounds `issuedAt`. */
export const CLOCK_SKEW_SECONDS = 60

/** The longest state that a token carries, in bytes of its JSON text. */
export const STATE_LIMIT_BYTES = 4_096

/** The longest stored result, in bytes of its JSON text. */
export const RESULT_LIMIT_BYTES = 1_048_576

/** How deep a state, arguments or answers may nest. A bare string or number is at depth 0. */
export const JSON_DEPTH = 64

/** A token carries rounds 1 to 31; callers set lower limits. */
export const HIGHEST_ROUND = 31

/** The longest state of the least compressible kind fits; anything longer is refused before it is decoded. */
export const TOKEN_LIMIT_CHARACTERS = 12_288

/** Of each text that a token is bound to, in UTF-16 units. */
export const BOUND_LIMIT_CHARACTERS = 16_384

/** Of a tenant: Node derives no key from an `info` of more than 1,024 bytes, and the tenant is a part of it. */
export const TENANT_LIMIT_BYTES = 768
