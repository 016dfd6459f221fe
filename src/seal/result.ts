import type { Json, TenantId } from "../brands.ts"
import { SealError } from "./errors.ts"
import { concat, parseStart, writeStart } from "./layout.ts"
import { RESULT_LIMIT_BYTES } from "./limits.ts"
import { pae } from "./pae.ts"
import { findKey, type RingKey, requireSealingKey } from "./ring.ts"
import type { SealerOptions } from "./sealer.ts"
import { deriveSubkey } from "./subkeys.ts"
import { fromUtf8 } from "./utf8.ts"

const utf8 = new TextEncoder()
const LABEL = "waxseal result v1"
const PURPOSE = "result"

/** What a stored result is bound to; it opens for nothing else. */
export interface ResultBinding {
  readonly tenant: TenantId
  /** A sealed operation's id, or what names a keyed one and is no such id. */
  readonly operation: string
}

/** Encrypts what an operation's record keeps, so that the store alone reveals no result. */
export interface ResultBox {
  /** Rejects with `SealError`, `invalid_result` over 1 MiB of JSON and `no_sealing_key` when no key seals now. */
  seal(binding: ResultBinding, result: Json): Promise<Uint8Array>
  /** Never rejects; not `ok` where the key has left the ring, or the box is not this operation's. */
  open(binding: ResultBinding, box: Uint8Array): Promise<{ ok: true; result: Json } | { ok: false }>
}

/**
 * Makes a box for stored results. A box opens for its own tenant and operation for as long as its key is in the ring.
 * `seal` throws `SealError` for a result of more than 1 MiB of JSON and when no key seals now; `open` never throws.
 *
 * @example
 * const results = createResultBox({ ring, now: Date.now, random: (bytes) => crypto.getRandomValues(bytes) })
 * const body = await results.seal({ tenant, operation }, { created: "db-7" })
 */
export function createResultBox({ ring, now, random }: Omit<SealerOptions, "purpose">): ResultBox {
  return {
    async seal(binding, result) {
      const plaintext = new Uint8Array(utf8.encode(JSON.stringify(result)))
      if (plaintext.length > RESULT_LIMIT_BYTES) {
        throw new SealError(
          "invalid_result",
          `The result has more than ${RESULT_LIMIT_BYTES} bytes of JSON; store less.`,
        )
      }
      const key = requireSealingKey(ring, now())
      const nonce = random(new Uint8Array(key.suite.nonceBytes))
      const header = writeStart({ suite: key.suite, keyId: key.id, nonce })
      const cipher = await subkey(key, binding)
      const ciphertext = await cipher.encrypt(nonce, associatedData(header, binding), plaintext)
      return concat(header, new Uint8Array(ciphertext))
    },

    async open(binding, box) {
      const parsed = parseStart(new Uint8Array(box))
      const key = parsed && findKey(ring, parsed.fields.keyId, parsed.fields.suite)
      if (!key) return { ok: false }
      const cipher = await subkey(key, binding)
      const associated = associatedData(parsed.header, binding)
      const plaintext = await cipher.decrypt(parsed.fields.nonce, associated, parsed.ciphertext)
      const text = plaintext && fromUtf8(plaintext)
      return text === undefined ? { ok: false } : { ok: true, result: JSON.parse(text) }
    },
  }
}

/** One subkey an operation: a stored result names no time, and a tenant may store many. */
function subkey(key: RingKey, { tenant, operation }: ResultBinding) {
  return deriveSubkey(key, PURPOSE, tenant, operation)
}

function associatedData(header: Uint8Array, { tenant, operation }: ResultBinding) {
  return pae(LABEL, header, PURPOSE, tenant, operation)
}
