import type { Redeemed } from "./answers.ts"
import type { RedeemRequest } from "./requests.ts"

/** What is sent is one attempt, however often it has to be sent. */
export function attemptOf<Request extends { readonly attemptId?: string }>(
  request: Request,
): Request & { readonly attemptId: string } {
  return { ...request, attemptId: request.attemptId ?? crypto.randomUUID() }
}

/** Whoever gave no id cannot have asked before: what was replayed is the answer to this very call, lost on its way. */
export function answerTo({ attemptId }: RedeemRequest, redeemed: Redeemed): Redeemed {
  return attemptId === undefined ? { ...redeemed, replayed: false } : redeemed
}
