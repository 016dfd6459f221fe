import { SealError } from "./errors.ts"
import { pae } from "./pae.ts"
import type { Bytes } from "./suites.ts"
import type { Binding, Purpose } from "./types.ts"
import { toUtf8 } from "./utf8.ts"

const LABEL = toUtf8("waxseal token v1")
const DIGEST_BYTES = 32

/** The bound fields as bytes. */
export interface BoundFields {
  readonly tenant: Uint8Array
  readonly audience: Uint8Array | undefined
  readonly principal: Uint8Array
  readonly method: Uint8Array
  readonly target: Uint8Array
  readonly argumentsDigest: Uint8Array | undefined
}

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

/** Encodes a binding that has no problem. */
export function boundFields({ tenant, audience, principal, method, target, argumentsDigest }: Binding): BoundFields {
  return {
    tenant: toUtf8(tenant),
    audience: audience === undefined ? undefined : toUtf8(audience),
    principal: toUtf8(principal),
    method: toUtf8(method),
    target: toUtf8(target),
    argumentsDigest,
  }
}

/** All of the header, and everything that a token is bound to without carrying it. */
export function associatedData(header: Bytes, purpose: Purpose, bound: BoundFields): Bytes {
  const { tenant, audience, principal, method, target, argumentsDigest } = bound
  return pae(LABEL, header, purpose, tenant, audience, principal, method, target, argumentsDigest)
}
