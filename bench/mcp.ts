import { deepEqual, equal } from "node:assert/strict"
import { z } from "zod"
import { buildBundle, type Recipe } from "../test/support/bundle.ts"
import { call, resultOf } from "../test/support/mcp.ts"
import type { Running } from "../test/support/workerd.ts"
import { onBed } from "./lib/bed.ts"
import type { Figure } from "./lib/figures.ts"
import { compare, measureInPairs } from "./lib/pairs.ts"

/** What a careful author writes on the official SDK alone. */
const PEER: Recipe = { config: "bench/peer/wrangler.toml", sources: ["bench/peer", "src"] }

const CONNECTIONS = 16

/** How long and how often each side is measured. */
export interface Effort {
  readonly pairs: number
  readonly seconds: number
}

/** The MCP endpoint. */
export async function mcp(effort: Effort): Promise<Figure[]> {
  return [await toolRatio("mcp.ask.ratio", "ask", "requests/s", effort)]
}

/** `provision_database` against the same tool, hand-written on the official SDK with its HMAC codec. */
export async function toolRatio(
  name: string,
  scenario: "ask" | "flow",
  unit: string,
  { pairs, seconds }: Effort,
  settings: Readonly<Record<string, string>> = {},
): Promise<Figure> {
  const [ourBundle, peerBundle] = [await buildBundle(), await buildBundle(PEER)]
  equal(peerBundle.compatibilityDate, ourBundle.compatibilityDate, "Both Workers must have one compatibility date.")
  return onBed(async ({ start, load, token }) => {
    const ours = await start(ourBundle, settings)
    const peer = await start(peerBundle, { OFFER: JSON.stringify(await offer(token, ours)) })
    await expectTheSameWork(token, ours, peer)
    const round = (worker: Running) => () =>
      load.run({ scenario, url: worker.url, token, connections: CONNECTIONS, seconds })
    await measureInPairs(1, round(ours), round(peer))
    const measured = await measureInPairs(pairs, round(ours), round(peer))
    return compare(name, unit, "bare SDK, HMAC codec", measured)
  })
}

/** Both must ask the very same question, and offer as much else: the SDK registers all of it in every request. */
async function expectTheSameWork(token: string, ours: Running, peer: Running): Promise<void> {
  const asked = await inputRequests(token, ours)
  deepEqual(await inputRequests(token, peer), asked, "Both Workers must ask the same question.")
  deepEqual(await offer(token, peer), await offer(token, ours), "Both Workers must offer as much of every kind.")
}

async function inputRequests(token: string, { url }: Running): Promise<unknown> {
  const question = { token, method: "tools/call", name: "provision_database", arguments: { name: "orders" } }
  return resultOf(await call(`${url}/mcp`, question)).inputRequests
}

/** How many tools, resources, templates and prompts a server lists. */
async function offer(token: string, worker: Running): Promise<Readonly<Record<string, number>>> {
  return {
    tools: await count(token, worker, "tools/list", "tools"),
    resources: await count(token, worker, "resources/list", "resources"),
    templates: await count(token, worker, "resources/templates/list", "resourceTemplates"),
    prompts: await count(token, worker, "prompts/list", "prompts"),
  }
}

/** A server that has none of a kind may not know the method. */
async function count(token: string, { url }: Running, method: string, member: string): Promise<number> {
  const { body } = await call(`${url}/mcp`, { token, method })
  const list = z.object({ result: z.object({ [member]: z.array(z.unknown()) }) }).safeParse(body)
  return list.data?.result[member]?.length ?? 0
}
