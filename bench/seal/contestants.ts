/*
 * Ours and what authors use today, each sealing one state for one request. Each binds caller, method, target and
 * arguments by the means that it documents, and each opens only for the same ones.
 */
import { createRequestStateCodec, type ServerContext } from "@modelcontextprotocol/server"
import canonicalize from "canonicalize"
import * as iron from "iron-webcrypto"
import { EncryptJWT, jwtDecrypt, jwtVerify, SignJWT } from "jose"
import { decrypt, encrypt } from "paseto-ts/v4"
import type { Json, Principal, TenantId } from "../../src/brands.ts"
import { type Binding, bytesToBase64Url, createSealer, digestArguments, parseKeyRing } from "../../src/seal/index.ts"

/** Of the published sizes. */
export const REFERENCE_STATE = {
  operationId: "op_01J9Z8Q7X5T3M2",
  phase: "awaiting_cost_approval",
  resource: "project:demo",
  policyVersion: "2026-08-14",
}

/** 20 bytes of JSON. */
export const SMALL_STATE = { phase: "waiting1" }

const TTL_SECONDS = 300
const DEADLINE_SECONDS = 600

/** For whom and for what a state is sealed. */
export interface Asked {
  readonly tenant: string
  readonly audience: string
  readonly principal: string
  readonly method: string
  readonly target: string
  readonly arguments: Readonly<Record<string, Json>>
}

export const ASKED: Asked = {
  tenant: "claim:acme",
  audience: "https://mcp.example.com/mcp",
  principal: '["https://issuer.example.com","user_123","cli"]',
  method: "tools/call",
  target: "create_project",
  arguments: { name: "orders", account: "acme" },
}

export interface Contestant {
  seal(asked: Asked, state: Json): Promise<string>
  /** The state; throws, or answers `undefined`, for a token that is not for this. */
  open(asked: Asked, token: string): Promise<unknown>
}

const KEY = Uint8Array.from({ length: 32 }, (_, index) => (index * 151 + 7) % 256)
const utf8 = new TextEncoder()

/** Makes a contestant anew, as a fresh isolate has to. */
export const CONTESTANTS = {
  "suite 1": () => ours(1),
  "suite 2": () => ours(2),
  "SDK codec": () => sdkCodec(withDigest),
  "SDK codec, arguments not digested": () => sdkCodec(async (asked) => canonical({ ...asked })),
  "JWE dir A256GCM": jwe,
  "JWT HS256": jwt,
  "PASETO v4.local": paseto,
  iron: ironSeal,
} as const satisfies Readonly<Record<string, () => Contestant>>

export type Name = keyof typeof CONTESTANTS

function ours(suite: 1 | 2): Contestant {
  const entry = { key: bytesToBase64Url(KEY), suite, sealsFrom: "2026-01-01T00:00:00Z" }
  const parsed = parseKeyRing(JSON.stringify([entry]))
  if (!parsed.ok) throw new Error(parsed.problem)
  const random = (bytes: Uint8Array<ArrayBuffer>) => crypto.getRandomValues(bytes)
  const sealer = createSealer({ purpose: "mcp", ring: parsed.ring, now: Date.now, random })
  const asked = Uint8Array.from({ length: 8 }, (_, index) => index * 31)
  return {
    async seal(request, state) {
      const issuedAt = Date.now()
      const times = {
        issuedAt,
        expiresAt: issuedAt + TTL_SECONDS * 1_000,
        deadline: issuedAt + DEADLINE_SECONDS * 1_000,
      }
      const draft = { round: 1, roundLimit: 3, ...times, home: { region: 4, shard: 11 }, asked, state }
      return (await sealer.seal(await bindingOf(request), draft)).token
    },
    async open(request, token) {
      const opened = await sealer.open(await bindingOf(request), token)
      return opened.ok ? opened.contents.state : undefined
    },
  }
}

async function bindingOf({ tenant, audience, principal, method, target, arguments: sent }: Asked): Promise<Binding> {
  const digested = await digestArguments(sent)
  if (!digested.ok) throw new Error(digested.problem)
  return {
    tenant: tenant as TenantId,
    audience,
    principal: principal as Principal,
    method,
    target,
    argumentsDigest: digested.digest,
  }
}

function sdkCodec(bound: (asked: Asked) => Promise<string>): Contestant {
  const bindings = new WeakMap<ServerContext, string>()
  const bind = (context: ServerContext) => bindings.get(context) ?? ""
  const codec = createRequestStateCodec<Json>({ key: KEY, ttlSeconds: TTL_SECONDS, bind })
  // The codec hands the context to `bind` and looks at nothing of it.
  const contextOf = async (asked: Asked) => {
    const context = {} as ServerContext
    bindings.set(context, await bound(asked))
    return context
  }
  return {
    seal: async (asked, state) => codec.mint(state, await contextOf(asked)),
    open: async (asked, token) => codec.verify(token, await contextOf(asked)),
  }
}

function jwe(): Contestant {
  const key = crypto.subtle.importKey("raw", KEY, "AES-GCM", false, ["encrypt", "decrypt"])
  const algorithms = { keyManagementAlgorithms: ["dir"], contentEncryptionAlgorithms: ["A256GCM"] }
  return {
    async seal(asked, state) {
      const claims = new EncryptJWT({ state, bound: await digestOfAll(asked) })
      claims.setProtectedHeader({ alg: "dir", enc: "A256GCM" }).setExpirationTime(expiry())
      return claims.encrypt(await key)
    },
    async open(asked, token) {
      const { payload } = await jwtDecrypt(token, await key, algorithms)
      return payload["bound"] === (await digestOfAll(asked)) ? payload["state"] : undefined
    },
  }
}

function jwt(): Contestant {
  const key = crypto.subtle.importKey("raw", KEY, { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"])
  return {
    async seal(asked, state) {
      const claims = new SignJWT({ state, bound: await digestOfAll(asked) })
      return claims
        .setProtectedHeader({ alg: "HS256" })
        .setExpirationTime(expiry())
        .sign(await key)
    },
    async open(asked, token) {
      const { payload } = await jwtVerify(token, await key, { algorithms: ["HS256"] })
      return payload["bound"] === (await digestOfAll(asked)) ? payload["state"] : undefined
    },
  }
}

/** The implicit assertion is made for this and needs no digest. */
function paseto(): Contestant {
  const key = Uint8Array.from([...utf8.encode("k4.local."), ...KEY])
  return {
    async seal(asked, state) {
      const exp = new Date(Date.now() + TTL_SECONDS * 1_000).toISOString()
      return encrypt(key, { state, exp }, { assertion: canonical({ ...asked }), addIat: false, addExp: false })
    },
    async open(asked, token) {
      return decrypt<{ state: Json }>(key, token, { assertion: canonical({ ...asked }) }).payload.state
    },
  }
}

function ironSeal(): Contestant {
  const password = bytesToBase64Url(KEY)
  const options = { ...iron.defaults, ttl: TTL_SECONDS * 1_000 }
  return {
    seal: async (asked, state) => iron.seal({ state, bound: await digestOfAll(asked) }, password, options),
    async open(asked, token) {
      const opened = await iron.unseal(token, password, options)
      const isOurs = typeof opened === "object" && opened !== null && "state" in opened && "bound" in opened
      return isOurs && opened.bound === (await digestOfAll(asked)) ? opened.state : undefined
    },
  }
}

/** The fields, and a digest of the arguments. */
async function withDigest({ arguments: sent, ...fields }: Asked): Promise<string> {
  return canonical({ ...fields, arguments: await digest(canonical(sent)) })
}

/** One digest of everything: the shortest that such a token can carry. */
function digestOfAll(asked: Asked): Promise<string> {
  return digest(canonical({ ...asked }))
}

async function digest(text: string): Promise<string> {
  return bytesToBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", utf8.encode(text))))
}

function canonical(value: Readonly<Record<string, Json>>): string {
  return canonicalize(value) ?? ""
}

function expiry(): number {
  return Math.floor(Date.now() / 1_000) + TTL_SECONDS
}
