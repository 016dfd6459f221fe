import { z } from "zod"
import { call, resultOf } from "../../support/mcp.ts"

const Named = z.array(z.object({ name: z.string() })).transform((all) => all.map(({ name }) => name))

const Created = z.object({ databases: Named, projects: Named })

/** The names that `list_created` shows. */
export async function created(url: string, token: string): Promise<z.infer<typeof Created>> {
  const list = { token, method: "tools/call", name: "list_created", arguments: {} }
  return Created.parse(resultOf(await call(url, list)).structuredContent)
}
