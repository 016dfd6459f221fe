import { equal } from "node:assert/strict"
import { z } from "zod"
import { buildBundle, type Recipe } from "../test/support/bundle.ts"
import type { Running } from "../test/support/workerd.ts"
import { onBed } from "./lib/bed.ts"
import type { Figure } from "./lib/figures.ts"
import { compare, measureInPairs, type Round } from "./lib/pairs.ts"
import type { Job } from "./load/job.ts"
import type { Effort } from "./mcp.ts"

const PEER: Recipe = { config: "bench/peer/bare-route.toml", sources: ["bench/peer"] }
const PEER_NAME = "bare route, same token check, echo"

const CONNECTIONS = 16
const BATCHED = 100
const SCOPES = "state:seal state:open"

const BOUND = {
  principal: "user_123",
  request: { method: "tools/call", target: "create_project", arguments: { name: "demo", account: "acme" } },
}
const STATE = {
  operationId: "op_01J9Z8Q7X5T3M2",
  phase: "awaiting_cost_approval",
  resource: "project:demo",
  policyVersion: "2026-08-14",
}

type ApiCall = NonNullable<Job["call"]>

/** The sealing API, whole requests. */
export async function api(effort: Effort): Promise<Figure[]> {
  return onBed(async (bed) => {
    const [ourBundle, peerBundle] = [await buildBundle(), await buildBundle(PEER)]
    equal(peerBundle.compatibilityDate, ourBundle.compatibilityDate, "Both Workers must have one compatibility date.")
    const [ours, peer] = [await bed.start(ourBundle), await bed.start(peerBundle)]
    const token = await bed.tokenFor("/v1", SCOPES)

    const round =
      (worker: Running, call: ApiCall): Round =>
      () =>
        bed.load.run({
          scenario: "api",
          url: worker.url,
          token,
          connections: CONNECTIONS,
          seconds: effort.seconds,
          call,
        })
    const ratio = async (name: string, { path, body, expects }: ApiCall) => {
      const echo = { path, body, expects: '"principal":"user_123"' }
      const [one, other] = [round(ours, { path, body, expects }), round(peer, echo)]
      await measureInPairs(1, one, other)
      return compare(name, "requests/s", PEER_NAME, await measureInPairs(effort.pairs, one, other))
    }

    const seal = { path: "/v1/seal", body: JSON.stringify({ state: STATE, ...BOUND }), expects: '"requestState":"' }
    const requestState = await sealedState(ours, token, seal)
    const open = { path: "/v1/open", body: JSON.stringify({ requestState, ...BOUND }), expects: '"needsReseal":false' }
    return [
      await ratio("api.seal.ratio", seal),
      await ratio("api.open.ratio", open),
      await batchRatio(effort, round(ours, batchOf(seal)), round(ours, seal)),
    ]
  })
}

/** States a second in batches against states a second in calls of their own. */
async function batchRatio({ pairs }: Effort, batches: Round, calls: Round): Promise<Figure> {
  const states = async () => BATCHED * (await batches())
  await measureInPairs(1, states, calls)
  return compare("api.batch.ratio", "states/s", "one state a call", await measureInPairs(pairs, states, calls))
}

function batchOf({ body }: ApiCall): ApiCall {
  const requests = Array.from({ length: BATCHED }, () => ({ op: "seal", ...z.looseObject({}).parse(JSON.parse(body)) }))
  return { path: "/v1/batch", body: JSON.stringify({ requests }), expects: '{"responses":[{"status":200,' }
}

async function sealedState({ url }: Running, token: string, { path, body }: ApiCall): Promise<string> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
  const response = await fetch(`${url}${path}`, { method: "POST", headers, body })
  return z.object({ requestState: z.string() }).parse(await response.json()).requestState
}
