import { z } from "zod"
import { BOUND_LIMIT_CHARACTERS } from "../seal/index.ts"
import { Wants } from "./changes/index.ts"

/** State can be bound to no longer one. */
const Target = z.string().max(BOUND_LIMIT_CHARACTERS)

const Listing = z.looseObject({ cursor: z.string().optional() })

/** Params for which the official SDK has no error but an internal one, or no limit, in their schema's own words. */
const SHAPES = new Map<string | undefined, z.ZodType>([
  ["prompts/get", z.looseObject({ name: Target, arguments: z.record(z.string(), z.string()).optional() })],
  ["resources/read", z.looseObject({ uri: Target })],
  ["subscriptions/listen", z.looseObject({ notifications: Wants })],
  ["tools/list", Listing],
  ["prompts/list", Listing],
  ["resources/list", Listing],
  ["resources/templates/list", Listing],
])

/** Why these are no params of this method, in one sentence; `undefined` where they may be. */
export function paramsProblem(method: string | undefined, params: unknown): string | undefined {
  const [issue] = SHAPES.get(method)?.safeParse(params ?? {}).error?.issues ?? []
  return issue && `Invalid params.${issue.path.join(".")}: ${issue.message}.`
}
