import { env } from "cloudflare:workers"
import type { Principal, TenantId } from "../../src/brands.ts"
import { createLedgerClient } from "../../src/ledger/index.ts"
import {
  type Call,
  type Inquiry,
  type InquiryEnd,
  type LegEnd,
  type Operation,
  type OperationEvent,
  type Report,
  type RuntimeParts,
  runInquiry,
  runOperation,
} from "../../src/operation/index.ts"
import {
  bytesToBase64Url,
  createPseudonyms,
  createResultBox,
  createSealer,
  parseKeyRing,
} from "../../src/seal/index.ts"

const random = (bytes: Uint8Array<ArrayBuffer>) => crypto.getRandomValues(bytes)

/** The real parts, on the real ledger, with one fresh key; events are kept and waits awaited by the test. */
export function stage(changes: Partial<RuntimeParts> = {}, now = () => Date.now()) {
  const key = bytesToBase64Url(random(new Uint8Array(32)))
  const parsed = parseKeyRing(JSON.stringify([{ key, sealsFrom: new Date(0).toISOString() }]))
  if (!parsed.ok) throw new Error(parsed.problem)
  const { ring } = parsed
  const events: OperationEvent[] = []
  const parts: RuntimeParts = {
    sealer: createSealer({ purpose: "mcp", ring, now, random }),
    results: createResultBox({ ring, now, random }),
    ledger: createLedgerClient({ namespace: env.LEDGER, purpose: "mcp", jurisdictions: new Map() }),
    home: () => ({ region: 0, shard: 0 }),
    now,
    random,
    ttlSeconds: 60,
    pseudonyms: createPseudonyms({ ring, now }),
    waitUntil: () => {},
    observe: (event) => events.push(event),
    ...changes,
  }
  const caller = {
    tenant: "claim:acme" as TenantId,
    principal: '["https://issuer.test","alice",null]' as Principal,
    scopes: new Set(["mcp"]),
  }
  const call = (target: string, changes: Partial<Call>): Call => ({
    caller,
    audience: "https://waxseal.test/mcp",
    method: "tools/call",
    target,
    arguments: {},
    input: changes.arguments ?? {},
    state: undefined,
    responses: undefined,
    signal: new AbortController().signal,
    ...changes,
  })
  const run = <Input>(operation: Operation<Input>, changes: Partial<Call> = {}): Promise<LegEnd> =>
    runOperation(operation, call(operation.name, changes), parts)
  return {
    parts,
    events,
    run,
    runInquiry: <Input, Result>(
      inquiry: Inquiry<Input, Result>,
      changes: Partial<Call> = {},
    ): Promise<InquiryEnd<Result>> => runInquiry(inquiry, call(inquiry.name, changes), parts),
    async ask<Input>(operation: Operation<Input>, call: Partial<Call> = {}) {
      const end = await run(operation, call)
      if (end.kind !== "ask") throw new Error(`The leg ended with ${end.kind}, not with a question.`)
      return end
    },
    async report<Input>(operation: Operation<Input>, call: Partial<Call> = {}): Promise<Report> {
      const end = await run(operation, call)
      if (end.kind !== "report") throw new Error(`The leg ended with ${end.kind}, not with a report.`)
      return end.report
    },
  }
}
