import { associatedData, bindingProblem, checkBinding } from "./binding.ts"
import { checkDraft, operationOf, readBody, writeBody } from "./body.ts"
import type { Bytes } from "./bytes.ts"
import { hintedReason, hintsFor } from "./hints.ts"
import { parseToken, writeHeader, writeToken } from "./layout.ts"
import { CLOCK_SKEW_SECONDS, LONGEST_DEADLINE_SECONDS, LONGEST_TTL_SECONDS, LOOKUP_SECONDS } from "./limits.ts"
import { type KeyRing, openingKey, type RingKey, requireSealingKey, sealingKey } from "./ring.ts"
import { decrypt, deriveSubkey, encrypt, type Subkey, SubkeyCache } from "./subkeys.ts"
import type { Contents, Opened, Purpose, Reason, Sealer } from "./types.ts"

const HOUR = 3_600_000
const CLOCK_SKEW = CLOCK_SKEW_SECONDS * 1_000
const LOOKUP = LOOKUP_SECONDS * 1_000
/** A deadline is at most this long after the first issue, so an expiry further back has no deadline to look up by. */
const LOOKUP_AT_MOST = LONGEST_DEADLINE_SECONDS * 1_000 + LOOKUP
/** No honest clock seals an expiry further ahead. */
const AHEAD_AT_MOST = LONGEST_TTL_SECONDS * 1_000 + CLOCK_SKEW
/** Tenants times the hours in which their tokens expire; a kilobyte each at most. */
const SUBKEYS_KEPT = 1_024

/** What a sealer is made of. Clock and randomness are its caller's, so that tests may choose them. */
export interface SealerOptions {
  /** Tokens of one purpose never open under another. Stored results have a box of their own. */
  readonly purpose: Exclude<Purpose, "result">
  readonly ring: KeyRing
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Fills the bytes from a cryptographically secure source and returns them. */
  readonly random: (bytes: Bytes) => Bytes
}

/**
 * Makes a sealer. Keep one for as long as the ring lives: it remembers derived subkeys.
 *
 * `seal` throws `SealError` for a state or draft that no token can carry and when no key seals now. `open` never throws
 * and never waits for anything but the runtime's cryptography; it takes up to 12,288 characters.
 *
 * @example
 * const sealer = createSealer({ purpose: "mcp", ring, now: Date.now, random: (bytes) => crypto.getRandomValues(bytes) })
 * const { token } = await sealer.seal(binding, draft)
 * const opened = await sealer.open(binding, token)
 */
export function createSealer({ purpose, ring, now, random }: SealerOptions): Sealer {
  const subkeys = new SubkeyCache(SUBKEYS_KEPT)

  function subkeyFor(key: RingKey, tenant: string, expiresAt: number): Subkey | Promise<Subkey> {
    const hour = String(Math.floor(expiresAt / HOUR))
    const name = `${key.name} ${hour} ${tenant}`
    return subkeys.peek(name) ?? deriveSubkey(key, purpose, tenant, hour).then((cipher) => ({ name, cipher }))
  }

  return {
    async seal(given, draft) {
      const binding = { ...given }
      checkBinding(binding)
      checkDraft(draft)
      const key = requireSealingKey(ring, now())
      const nonce = random(new Uint8Array(key.suite.nonceBytes))
      const hints = hintsFor(binding, key.hintMask(nonce))
      const header = writeHeader({ suite: key.suite, keyId: key.id, nonce, expiresAt: draft.expiresAt, hints })
      const operation = draft.operation ?? operationOf(nonce)

      // From the body on no code of others runs, such as a getter that seals, too: it would take the scratch memory.
      const body = writeBody(draft)
      const subkey = subkeyFor(key, binding.tenant, draft.expiresAt)
      const ciphertext = await encrypt(subkey, nonce, associatedData(header, purpose, binding), body)
      subkeys.keep(subkey)
      return { token: writeToken(header, new Uint8Array(ciphertext)), operation }
    },

    async open(binding, text) {
      const token = parseToken(text)
      if (!token) return refused("malformed")
      const { keyId, suite, nonce, expiresAt, hints } = token.fields
      const time = now()
      const key = openingKey(ring, keyId, suite, time)
      if (!key) return refused("unknown_key")
      if (expiresAt + LOOKUP_AT_MOST <= time) return refused("expired")
      if (expiresAt > time + AHEAD_AT_MOST || bindingProblem(binding)) return refused("forged")
      const subkey = subkeyFor(key, binding.tenant, expiresAt)
      const body = await decrypt(subkey, nonce, associatedData(token.header, purpose, binding), token.ciphertext)
      if (body) {
        subkeys.keep(subkey)
        return judge(readBody(body, nonce, expiresAt), key, time)
      }
      if (expiresAt <= time) return refused("expired")
      return refused(hintedReason(hints, hintsFor(binding, key.hintMask(nonce))))
    },
  }

  /** What an authentic token is worth at this time. */
  function judge(contents: Contents | undefined, key: RingKey, time: number): Opened {
    if (!contents) return refused("malformed")
    if (contents.issuedAt > time + CLOCK_SKEW) return refused("forged")
    if (time < contents.expiresAt) {
      return { ok: true, contents, keyId: key.name, needsReseal: key !== sealingKey(ring, time) }
    }
    return time < contents.deadline + LOOKUP
      ? { ok: false, reason: "expired", authentic: contents }
      : refused("expired")
  }
}

function refused(reason: Reason): Opened {
  return { ok: false, reason }
}
