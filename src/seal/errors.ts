/** Why a seal could not be made. An open never throws: it answers with a `Reason`. */
export type SealErrorCode =
  /** No key of the ring seals at this time. */
  | "no_sealing_key"
  /** The state is not JSON, too deep or too long. */
  | "invalid_state"
  /** A time, round, home, digest or id is out of range. */
  | "invalid_draft"
  /** A bound field has no UTF-8 form, or the digest of the arguments is not 32 bytes. */
  | "invalid_binding"
  /** The stored result is too long. */
  | "invalid_result"

/** Thrown by `seal`. The message says what is wrong and never quotes a state, an answer or a key. */
export class SealError extends Error {
  override readonly name = "SealError"
  readonly code: SealErrorCode

  constructor(code: SealErrorCode, message: string) {
    super(message)
    this.code = code
  }
}
