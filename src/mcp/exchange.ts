import { z } from "zod"
import type { Identity } from "../auth/index.ts"
import type { RuntimeParts } from "../operation/index.ts"
import type { Era } from "./offer.ts"
import { paramsProblem } from "./params.ts"

/** Who came to `/mcp`, and to which. */
export interface Entrance {
  readonly identity: Identity
  /** What access tokens for this endpoint are issued for, and what state is bound to. */
  readonly audience: string
  /** Where the endpoint describes itself (RFC 9728), for challenges. */
  readonly metadata: string
  /** When the access token ends that came with the request, in milliseconds since 1970. */
  readonly expiresAt: number
  /** Clients of which eras can be told of changes here. */
  readonly hearing: ReadonlySet<Era>
  readonly parts: RuntimeParts
}

/** One HTTP request at `/mcp`, after everything about it that stands in front of the SDK has been proven. */
export interface Exchange extends Entrance {
  /** The parsed body: header checks, digests and execution all read this one value. */
  readonly body: unknown
  readonly called: Called
}

/** What a body asks for. The SDK has the last word on whether it is a message at all. */
export interface Called {
  /** `null` where it has none that an answer could carry. */
  readonly id: string | number | null
  readonly method: string | undefined
  /** The tool's or prompt's name, or the resource's URI. */
  readonly target: string | undefined
  /** As sent: absent is not empty. */
  readonly arguments: unknown
  /** Whether it brings state, good or bad. */
  readonly hasState: boolean
  /** Where the caller's trace goes on (W3C Trace Context); what is not well-formed is ignored, `baggage` always. */
  readonly traceparent: string | undefined
  /** Why its params are none of its method's. */
  readonly problem: string | undefined
}

const Members = z.custom<Readonly<Record<string, unknown>>>((value) => typeof value === "object" && value !== null)

const Text = z.string()

const Id = z.union([z.string(), z.number()])

const Message = z.object({ method: z.string(), params: Members.optional(), id: z.unknown().optional() })

/** The member that names what a method is about; other methods are about nothing. */
const TARGETS = new Map<string | undefined, string>([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  ["resources/subscribe", "uri"],
  ["resources/unsubscribe", "uri"],
])

/** W3C Trace Context 3.2.2: of any version but `ff`, with ids that are not all zero. */
const TraceMeta = z.object({
  traceparent: z.string().regex(/^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/),
})

/** Reads what a body asks for, and of each method only the member that is its own. */
export function readCalled(body: unknown): Called {
  const { method, params, id } = Message.safeParse(body).data ?? {}
  return {
    id: Id.safeParse(id).data ?? null,
    method,
    target: Text.safeParse(params?.[TARGETS.get(method) ?? ""]).data,
    arguments: params?.["arguments"],
    hasState: params?.["requestState"] !== undefined,
    traceparent: TraceMeta.safeParse(params?.["_meta"]).data?.traceparent,
    problem: paramsProblem(method, params),
  }
}
