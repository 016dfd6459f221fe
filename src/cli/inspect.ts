import { text } from "node:stream/consumers"
import { parseArgs } from "node:util"
import { z } from "zod"
import type { Principal, TenantId } from "../brands.ts"
import {
  type Binding,
  type Contents,
  createSealer,
  digestArguments,
  type KeyListing,
  type KeyRing,
  listKeys,
  type Opened,
  type PublicHeader,
  parseKeyRing,
  readHeader,
} from "../seal/index.ts"
import { CommandError, readFlags, readPositionals } from "./command.ts"
import { readRingText } from "./ring-file.ts"

export const INSPECT =
  "waxseal inspect [--keys FILE [--tenant ID --principal ID [--audience URL] [--method NAME] --target NAME [--arguments JSON] [--purpose mcp|api|session]]] < TOKEN"

const Purpose = z.enum(["mcp", "api", "session"])

type Flags = ReturnType<typeof parseFlags>["values"]

/** Says what can be said of the token on standard input, as JSON: the more is given, the more. */
export async function inspect(args: readonly string[]): Promise<void> {
  const { values: flags, positionals } = readFlags(INSPECT, () => parseFlags(args))
  readPositionals(INSPECT, positionals, z.tuple([]))
  const token = (await text(process.stdin)).trim()
  const header = readHeader(token)
  if (!header) throw new CommandError("Standard input holds no token: give a whole requestState, and nothing else.")
  const now = Date.now()
  const asked = questionOf(flags)
  if (asked && flags.keys === undefined) throw new CommandError(`Nothing opens without --keys; use: ${INSPECT}`)
  const ring = flags.keys === undefined ? undefined : readRing(flags.keys)
  const opened = ring && asked && (await open(ring, asked, token))
  const findings = {
    ...headerFindings(token, header, now),
    ...(ring && { key: keyFindings(ring, header, now) }),
    ...(opened && openedFindings(opened)),
  }
  console.log(JSON.stringify(findings, null, 2))
}

function parseFlags(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      keys: { type: "string" },
      tenant: { type: "string" },
      principal: { type: "string" },
      audience: { type: "string" },
      method: { type: "string" },
      target: { type: "string" },
      arguments: { type: "string" },
      purpose: { type: "string" },
    },
  })
}

function readRing(file: string): KeyRing {
  const parsed = parseKeyRing(readRingText(file))
  if (!parsed.ok) throw new CommandError(`${file} is not a key ring: ${parsed.problem}.`)
  return parsed.ring
}

/** For whom and for what the token was sealed, as far as the flags say: it cannot be decrypted without. */
interface Question extends Omit<Flags, "tenant" | "principal" | "target"> {
  readonly tenant: string
  readonly principal: string
  readonly target: string
}

function questionOf({ keys: _, ...flags }: Flags): Question | undefined {
  if (Object.values(flags).every((flag) => flag === undefined)) return undefined
  const { tenant, principal, target } = flags
  if (tenant === undefined || principal === undefined || target === undefined) {
    throw new CommandError(`--tenant, --principal and --target belong together; use: ${INSPECT}`)
  }
  return { ...flags, tenant, principal, target }
}

async function open(ring: KeyRing, asked: Question, token: string): Promise<Opened> {
  const { tenant, principal, audience, method = "tools/call", target, arguments: sent } = asked
  const purpose = Purpose.safeParse(asked.purpose ?? "mcp")
  if (!purpose.success) throw new CommandError("--purpose must be mcp, api or session.")
  const binding: Binding = {
    tenant: tenant as TenantId,
    principal: principal as Principal,
    ...(audience !== undefined && { audience }),
    method,
    target,
    ...(sent !== undefined && { argumentsDigest: await digestOf(sent) }),
  }
  return createSealer({ purpose: purpose.data, ring, now: Date.now, random: neverNeeded }).open(binding, token)
}

async function digestOf(sent: string): Promise<Uint8Array> {
  const digested = await digestArguments(jsonOf(sent))
  if (!digested.ok) throw new CommandError(`--arguments cannot be bound: ${digested.problem}.`)
  return digested.digest
}

function jsonOf(sent: string): unknown {
  try {
    return JSON.parse(sent)
  } catch {
    throw new CommandError("--arguments must be JSON, as the request has it.")
  }
}

function headerFindings(token: string, header: PublicHeader, now: number) {
  const { suite, keyId, expiresAt, beginsOperation } = header
  return {
    suite,
    keyId,
    expiresAt: timeText(expiresAt),
    expired: expiresAt <= now,
    characters: token.length,
    operationIdIfFirstRound: beginsOperation,
  }
}

function keyFindings(ring: KeyRing, { keyId, suite }: PublicHeader, now: number) {
  const key = listKeys(ring, now).find((listing) => listing.keyId === keyId && listing.suite === suite)
  return key ? shownKey(key) : "not in the ring"
}

function shownKey({ state, sealsFrom, sealsUntil, opensUntil }: KeyListing) {
  return {
    state,
    sealsFrom: timeText(sealsFrom),
    ...(sealsUntil !== undefined && { sealsUntil: timeText(sealsUntil) }),
    ...(opensUntil !== undefined && { opensUntil: timeText(opensUntil) }),
  }
}

function openedFindings(opened: Opened) {
  if (opened.ok) return { needsReseal: opened.needsReseal, contents: shownContents(opened.contents) }
  const authentic = opened.reason === "expired" ? opened.authentic : undefined
  return { refused: opened.reason, ...(authentic && { contents: shownContents(authentic) }) }
}

function shownContents({ issuedAt, expiresAt, deadline, asked, ...rest }: Contents) {
  return {
    ...rest,
    issuedAt: timeText(issuedAt),
    expiresAt: timeText(expiresAt),
    deadline: timeText(deadline),
    ...(asked && { asked: Buffer.from(asked).toString("hex") }),
  }
}

function timeText(time: number): string {
  return new Date(time).toISOString()
}

function neverNeeded(): never {
  throw new TypeError("Opening a token needs no randomness.")
}
