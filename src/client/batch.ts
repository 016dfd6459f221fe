import { type BatchAnswers, Opened, Redeemed, Sealed } from "./answers.ts"
import { answerTo, attemptOf } from "./attempt.ts"
import type { WaxsealError } from "./errors.ts"
import { errorOf, notTheApi } from "./problem.ts"
import type { BatchRequest } from "./requests.ts"

/** What became of one call of a batch. */
export type BatchResult =
  | { readonly ok: true; readonly op: "seal"; readonly value: Sealed }
  | { readonly ok: true; readonly op: "open"; readonly value: Opened }
  | { readonly ok: true; readonly op: "redeem"; readonly value: Redeemed }
  | { readonly ok: false; readonly op: BatchRequest["op"]; readonly error: WaxsealError }

type BatchAnswer = BatchAnswers["responses"][number]

/** As it is sent: a batch that is made again redeems nothing twice. */
export function batchBody(requests: readonly BatchRequest[]) {
  return { requests: requests.map((request) => (request.op === "redeem" ? attemptOf(request) : request)) }
}

/** The answers, each read as one to its own request. */
export function batchResults(requests: readonly BatchRequest[], { responses }: BatchAnswers): BatchResult[] {
  return requests.map((request, index) => {
    const answer = responses[index]
    return answer ? resultOf(request, answer) : { ok: false, op: request.op, error: notTheApi(200) }
  })
}

function resultOf(request: BatchRequest, { status, body }: BatchAnswer): BatchResult {
  const { op } = request
  if (status !== 200) return { ok: false, op, error: errorOf(status, body) }
  const misread = { ok: false, op, error: notTheApi(status) } as const
  switch (op) {
    case "seal": {
      const { data: value } = Sealed.safeParse(body)
      return value ? { ok: true, op, value } : misread
    }
    case "open": {
      const { data: value } = Opened.safeParse(body)
      return value ? { ok: true, op, value } : misread
    }
    case "redeem": {
      const { data: value } = Redeemed.safeParse(body)
      return value ? { ok: true, op, value: answerTo(request, value) } : misread
    }
  }
}
