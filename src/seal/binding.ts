import type { Bytes } from "./bytes.ts"
import { SealError } from "./errors.ts"
import { pae } from "./pae.ts"
import type { Binding, Purpose } from "./types.ts"

const LABEL = "waxseal token v1"
const DIGEST_BYTES = 32

/** What keeps a binding from being sealed: no token can be bound to it, so none opens under it either. */
export function bindingProblem(binding: Binding): string | undefined {
  const { tenant, audience = "", principal, method, target, argumentsDigest } = binding
  const wellFormed =
    tenant.isWellFormed() &&
    audience.isWellFormed() &&
    principal.isWellFormed() &&
    method.isWellFormed() &&
    target.isWellFormed()
  if (!wellFormed) return "A bound field has a lone surrogate; refuse such a request earlier."
  if (argumentsDigest === undefined || argumentsDigest.length === DIGEST_BYTES) return undefined
  return `The digest of the arguments has ${argumentsDigest.length} bytes; give the ${DIGEST_BYTES} of SHA-256.`
}

export function checkBinding(binding: Binding): void {
  const problem = bindingProblem(binding)
  if (problem !== undefined) throw new SealError("invalid_binding", problem)
}

/** All of the header, and everything that a token is bound to without carrying it. */
export function associatedData(header: Bytes, purpose: Purpose, binding: Binding): Bytes {
  const { tenant, audience, principal, method, target, argumentsDigest } = binding
  return pae(LABEL, header, purpose, tenant, audience, principal, method, target, argumentsDigest)
}
