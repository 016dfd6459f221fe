import type { Bytes } from "./bytes.ts"
import { SealError } from "./errors.ts"
import { BOUND_LIMIT_CHARACTERS, TENANT_LIMIT_BYTES } from "./limits.ts"
import { paeIn } from "./pae.ts"
import { createScratch } from "./scratch.ts"
import type { Binding, Purpose } from "./types.ts"
import { utf8Length } from "./utf8.ts"

const LABEL = "waxseal token v1"
const DIGEST_BYTES = 32

/** What keeps a binding from being sealed: no token can be bound to it, so none opens under it either. */
export function bindingProblem(binding: Binding): string | undefined {
  const { tenant, audience = "", principal, method, target, argumentsDigest } = binding
  for (const text of [tenant, audience, principal, method, target]) {
    if (text.length > BOUND_LIMIT_CHARACTERS) {
      return `A bound field has ${text.length} characters; at most ${BOUND_LIMIT_CHARACTERS} fit.`
    }
    if (!text.isWellFormed()) return "A bound field has a lone surrogate; refuse such a request earlier."
  }
  if (utf8Length(tenant) > TENANT_LIMIT_BYTES) return `The tenant has more than ${TENANT_LIMIT_BYTES} bytes of UTF-8.`
  if (argumentsDigest === undefined || argumentsDigest.length === DIGEST_BYTES) return undefined
  return `The digest of the arguments has ${argumentsDigest.length} bytes; give the ${DIGEST_BYTES} of SHA-256.`
}

export function checkBinding(binding: Binding): void {
  const problem = bindingProblem(binding)
  if (problem !== undefined) throw new SealError("invalid_binding", problem)
}

/** For some 300 characters of text, at the most that each may take; what is bound to more gets memory of its own. */
const scratch = createScratch(1_024)

/** All of the header, and everything that a token is bound to without carrying it; in scratch memory. */
export function associatedData(header: Bytes, purpose: Purpose, binding: Binding): Bytes {
  const { tenant, audience, principal, method, target, argumentsDigest } = binding
  return paeIn(scratch, [LABEL, header, purpose, tenant, audience, principal, method, target, argumentsDigest])
}
