import { inputRequired, inputResponse } from "@modelcontextprotocol/server"
import { z } from "zod"
import type { Question } from "../question.ts"

const Roots = z.array(z.object({ uri: z.string().startsWith("file://"), name: z.string().optional() }))
/** Folders as the client lists them, each a `file:` URI. The client's word, like every answer. */
export type Roots = z.infer<typeof Roots>

/**
 * The folders that the client opens to the server (`roots/list`; deprecated since 2026-07-28, SEP-2577).
 *
 * @example
 * const folders = await op.ask("folders", roots())
 */
export function roots(): Question<Roots> {
  return {
    request: inputRequired.listRoots(),
    read(responses, key) {
      const response = inputResponse(responses, key)
      const listed = Roots.safeParse(response.kind === "roots" ? response.roots : undefined)
      return listed.success ? { kind: "answered", answer: listed.data } : { kind: "unanswered" }
    },
    recall: (sealed) => Roots.safeParse(sealed).data,
  }
}
