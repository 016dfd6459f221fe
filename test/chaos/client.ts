import canonicalize from "canonicalize"
import { z } from "zod"
import { type Call, encode } from "../support/mcp.ts"
import type { Told } from "./history.ts"
import type { World } from "./world.ts"

const PATIENCE_MS = 8_000

const Spoken = z.union([
  z.object({ result: z.object({ resultType: z.literal("input_required"), requestState: z.string() }) }),
  z.object({
    result: z.object({
      resultType: z.literal("complete"),
      content: z.array(z.object({ text: z.string() })),
      structuredContent: z.looseObject({
        status: z.string().exactOptional(),
        retryable: z.boolean().exactOptional(),
        recorded: z.string().exactOptional(),
        operationId: z.string().exactOptional(),
      }),
    }),
  }),
  z.object({ error: z.object({ code: z.number() }) }),
])

export type Spoken = z.infer<typeof Spoken>
type Complete = Extract<Spoken, { result: { resultType: "complete" } }>["result"]

/** Posts, and gives the JSON that comes back, or why none did. The client goes away after `patience` milliseconds. */
export async function post(
  world: World,
  path: string,
  headers: Record<string, string>,
  body: string,
  patience = PATIENCE_MS,
): Promise<{ readonly json: unknown } | { readonly why: string }> {
  try {
    const signal = AbortSignal.timeout(patience)
    const response = await fetch(`${await world.url()}${path}`, { method: "POST", headers, body, signal })
    return response.status < 500 ? { json: await response.json() } : { why: `HTTP ${response.status}` }
  } catch (error) {
    return { why: error instanceof Error ? error.name : "lost" }
  }
}

const Objects = z.array(z.string())

/** Crashes or sweeps the objects that are awake, and others by their names; gives the names of all. */
export async function interfere(
  world: World,
  how: "/crash" | "/sweep",
  others: readonly string[] = [],
): Promise<readonly string[]> {
  const answer = await post(world, how, {}, JSON.stringify(others))
  return "json" in answer ? Objects.parse(answer.json) : others
}

/** One leg of a tool call. */
export async function speak(
  world: World,
  call: Omit<Call, "method">,
  patience?: number,
): Promise<Spoken | { readonly why: string }> {
  const { headers, body } = encode({ method: "tools/call", ...call })
  const answer = await post(world, "/mcp", headers, body, patience)
  return "why" in answer ? answer : Spoken.parse(answer.json)
}

/** What a leg that answers says of its operation. */
export function told(spoken: Spoken | { readonly why: string }): Told {
  if ("why" in spoken) return { says: "nothing", why: spoken.why }
  if ("error" in spoken) return { says: "refused" }
  if (spoken.result.resultType === "input_required") return { says: "nothing", why: "asked again" }
  return toldBy(spoken.result)
}

function toldBy({ structuredContent, content }: Complete): Told {
  const { status = "nothing", retryable, recorded } = structuredContent
  switch (status) {
    case "already_used":
      return { says: "already_used", recorded: recorded ?? "nothing" }
    case "in_progress":
    case "outcome_unknown":
      return { says: status }
    default:
      if (!retryable) return { says: "outcome", outcome: status, result: canonicalize(structuredContent) ?? "" }
      return content.some(({ text }) => text.startsWith("Nothing was counted"))
        ? { says: "given_back" }
        : { says: "nothing", why: "the server failed" }
  }
}
