import type { InputRequest } from "@modelcontextprotocol/server"
import { z } from "zod"
import type { Json } from "../brands.ts"

/** What came back for a question. Only `answered` is ever read as data. */
export type Reading<Answer> =
  | { readonly kind: "answered"; readonly answer: Answer }
  | { readonly kind: "declined" }
  | { readonly kind: "cancelled" }
  /** Missing, of another kind, not what was asked for, or not finished: the question is put again. */
  | { readonly kind: "unanswered" }

/** A question as it is sent, and the one way to read what comes back. */
export interface Question<Answer> {
  readonly request: InputRequest
  /** Reads one member of `inputResponses`, the client's word: nothing in it is trusted. */
  read(responses: Record<string, unknown>, key: string): Reading<Answer> | Promise<Reading<Answer>>
  /** Reads an answer that an earlier leg accepted and sealed; none where the schema has changed since. */
  recall(sealed: Json): Answer | undefined
}

/** The answer that a question gives. */
export type AnswerOf<Asked> = Asked extends Question<infer Answer> ? Answer : never

const Sealable = z.json()

/** An answer in the form in which it is sealed. */
export function sealable(answer: unknown): Json {
  return Sealable.parse(answer)
}
