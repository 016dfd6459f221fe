import { SealError } from "./errors.ts"
import { pae } from "./pae.ts"
import type { Binding, Purpose } from "./types.ts"

const LABEL = "waxseal token v1"
const DIGEST_BYTES = 32

/** The bound fields as bytes: what a hint is about, and what the associated data holds. */
export interface BoundFields {
  readonly principal: Uint8Array
  readonly audience: Uint8Array
  readonly request: Uint8Array
}

/** What keeps a binding from being sealed: no token can be bound to it, so none opens under it either. */
export function bindingProblem(binding: Binding): string | undefined {
  const { tenant, audience = "", principal, method, target, argumentsDigest } = binding
  if (![tenant, audience, principal, method, target].every((text) => text.isWellFormed())) {
    return "A bound field has a lone surrogate; refuse such a request earlier."
  }
  if (argumentsDigest !== undefined && argumentsDigest.length !== DIGEST_BYTES) {
    return `The digest of the arguments has ${argumentsDigest.length} bytes; give the ${DIGEST_BYTES} of SHA-256.`
  }
  return undefined
}

export function checkBinding(binding: Binding): void {
  const problem = bindingProblem(binding)
  if (problem !== undefined) throw new SealError("invalid_binding", problem)
}

export function boundFields({ principal, audience, method, target, argumentsDigest }: Binding): BoundFields {
  return { principal: pae(principal), audience: pae(audience), request: pae(method, target, argumentsDigest) }
}

/** Everything that a token is bound to and does not carry, and all of its header. */
export function associatedData(header: Uint8Array, purpose: Purpose, tenant: string, fields: BoundFields) {
  return pae(LABEL, header, purpose, tenant, fields.principal, fields.audience, fields.request)
}
