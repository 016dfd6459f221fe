import type { Principal, TenantId } from "../brands.ts"
import {
  type Binding,
  type Contents,
  createSealer,
  digestArguments,
  firstRound,
  nextRound,
  parseKeyRing,
  type Sealer,
} from "../seal/index.ts"
import type { Bound } from "./requests.ts"
import { type Lifetime, noRoundsLeft, type Seals } from "./seals.ts"

/** A ring of one's own is one tenant's. It must not be a deployment's: there it would be nobody's. */
const TENANT = "local" as TenantId
/** No ledger knows these operations. */
const NO_HOME = { region: 0, shard: 0 }

/** Seals with a key ring, in the form of `SEAL_KEYS` (docs/keys.md): suite 1 by WebCrypto, suite 2 everywhere alike. */
export function localSeals(ring: string): Seals {
  const parsed = parseKeyRing(ring)
  if (!parsed.ok) throw new Error(`The key ring cannot be read: ${parsed.problem}.`)
  const random = (bytes: Uint8Array<ArrayBuffer>) => crypto.getRandomValues(bytes)
  const sealer = createSealer({ purpose: "api", ring: parsed.ring, now: Date.now, random })
  return {
    async seal(bound, state, { continues, ...lifetime }) {
      const binding = await bindingOf(bound)
      const draft =
        continues === undefined
          ? { ...firstRound(lifetime, Date.now()), home: NO_HOME }
          : continued(await opened(sealer, binding, continues), lifetime)
      return (await sealer.seal(binding, { ...draft, state })).token
    },
    async open(bound, state) {
      return (await opened(sealer, await bindingOf(bound), state)).state
    },
  }
}

async function opened(sealer: Sealer, binding: Binding, state: string): Promise<Contents> {
  const opened = await sealer.open(binding, state)
  if (!opened.ok) throw new Error(opened.reason)
  return opened.contents
}

/** Names are this server's own word, from what it has verified. */
async function bindingOf({ principal, audience, request }: Bound): Promise<Binding> {
  const { method, target, arguments: sent } = request
  const digested = sent === undefined ? undefined : await digestArguments(sent)
  if (digested?.ok === false) throw new Error(`The arguments cannot be bound: ${digested.problem}.`)
  return {
    tenant: TENANT,
    principal: principal as Principal,
    method,
    target,
    ...(audience !== undefined && { audience }),
    ...(digested && { argumentsDigest: digested.digest }),
  }
}

function continued(before: Contents, lifetime: Lifetime) {
  const round = nextRound(before, lifetime, Date.now())
  if (round) return round
  throw noRoundsLeft()
}
