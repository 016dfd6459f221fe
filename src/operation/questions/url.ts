import { inputRequired, inputResponse } from "@modelcontextprotocol/server"
import { z } from "zod"
import type { Question } from "../question.ts"

const Visited = z.literal(true)

/**
 * A page that a person opens in a browser (elicitation, mode `url`), for what must not pass through the client: keys,
 * payments, sign-in.
 *
 * That the person agreed to open the page says nothing about what they did there, so `finished` is asked, by whatever the
 * page leaves on the server; until it says yes the question is put again. The answer is `true`.
 *
 * @example
 * url("https://example.test/sign-in?for=op", "Sign in to continue.", () => signIns.has(operation))
 */
export function url(href: string, message: string, finished: () => boolean | Promise<boolean>): Question<true> {
  return {
    request: inputRequired.elicitUrl({ message, url: href }),
    async read(responses, key) {
      const response = inputResponse(responses, key)
      if (response.kind !== "elicit") return { kind: "unanswered" }
      switch (response.action) {
        case "decline":
          return { kind: "declined" }
        case "cancel":
          return { kind: "cancelled" }
        case "accept":
          return (await finished()) ? { kind: "answered", answer: true } : { kind: "unanswered" }
      }
    },
    recall: (sealed) => Visited.safeParse(sealed).data,
  }
}
