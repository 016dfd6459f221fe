import { z } from "zod"

/** Bounds what a session's id weighs, which travels in a header of every request. */
const LONGEST_TEXT = 64

/** Shortened where it is longer: nothing that a client can do depends on its end. */
const Text = z.string().transform((text) => text.slice(0, LONGEST_TEXT).toWellFormed())

const Given = z.object({})

/**
 * What `initialize` said that later requests go by: the revision, who the client is, and what it can be asked. Everything
 * else that it said is forgotten.
 */
export const Opening = z.object({
  protocolVersion: Text,
  clientInfo: z.object({ name: Text, version: Text }),
  capabilities: z.object({
    elicitation: z.object({ form: Given.exactOptional(), url: Given.exactOptional() }).exactOptional(),
    sampling: z.object({ tools: Given.exactOptional(), context: Given.exactOptional() }).exactOptional(),
    roots: z.object({ listChanged: z.boolean().exactOptional() }).exactOptional(),
  }),
})
export type Opening = z.infer<typeof Opening>

const Initialize = z.object({ id: z.union([z.string(), z.number()]), method: z.literal("initialize"), params: Opening })

/** What a body says that opens a session; `undefined` where it opens none. */
export function readOpening(body: unknown): Opening | undefined {
  return Initialize.safeParse(body).data?.params
}
