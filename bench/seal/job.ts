import { z } from "zod"
import { CONTESTANTS, type Name } from "./contestants.ts"

/** Nothing but the way there and back; and one call of WebCrypto, for what no token can be faster than. */
export const MARKS = ["nothing", "bare subtle.encrypt"] as const

export type Runner = Name | (typeof MARKS)[number]

const isRunner = (name: unknown): name is Runner => [...Object.keys(CONTESTANTS), ...MARKS].some((one) => one === name)

/** What to do how many times in one request; it is timed from outside, where the clock runs. */
export const Job = z.object({
  runner: z.custom<Runner>(isRunner),
  verb: z.enum(["seal", "open"]),
  times: z.int().positive(),
})

export type Job = z.infer<typeof Job>
