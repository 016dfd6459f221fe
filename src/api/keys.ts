import type { z } from "zod"
import { endpoint, NO_BODY, NO_PARAMETERS } from "./endpoint.ts"
import { timeOf } from "./schemas/common.ts"
import { KeysBody } from "./schemas/keys.ts"

export const keys = endpoint({
  name: "keys",
  method: "GET",
  path: "/keys",
  scope: "state:open",
  summary: "Lists the keys that seal and open, by their ids.",
  parameters: NO_PARAMETERS,
  body: NO_BODY,
  answers: { 200: KeysBody },
  problems: [],
  handle: async ({ parts }) => {
    const body: z.output<typeof KeysBody> = {
      keys: parts.listKeys().map(({ keyId, suite, state, sealsFrom, sealsUntil, opensUntil }) => ({
        keyId,
        suite,
        state,
        sealsFrom: timeOf(sealsFrom),
        ...(sealsUntil !== undefined && { sealsUntil: timeOf(sealsUntil) }),
        ...(opensUntil !== undefined && { opensUntil: timeOf(opensUntil) }),
      })),
    }
    return { status: 200, body }
  },
})
