import { z } from "zod"
import type { API_SCOPES } from "../auth/index.ts"
import { errorName } from "../error-name.ts"
import { LedgerUnavailable } from "../ledger/index.ts"
import type { Answer } from "./answer.ts"
import type { Call } from "./call.ts"
import { misfit, type ProblemCode, passingProblem, problem } from "./problems.ts"

export type Scope = (typeof API_SCOPES)[number]

interface Definition<Parameters, Body> {
  /** The call's name in logs, in batches and in the OpenAPI document. */
  readonly name: string
  readonly method: "GET" | "POST"
  /** Under `/v1`, with parameters in braces. */
  readonly path: string
  /** Absent: any caller may, and what it does is checked where it is done. */
  readonly scope?: Scope
  readonly summary: string
  /** Of the path and the query, each a string. */
  readonly parameters: z.ZodObject & z.ZodType<Parameters>
  readonly body: z.ZodType<Body>
  /** What a call that goes well is answered with, by status. */
  readonly answers: Readonly<Record<number, z.ZodType>>
  /** Problems of its own, beside those that every endpoint may have. */
  readonly problems: readonly ProblemCode[]
  readonly handle: (call: Call, body: Body, parameters: Parameters) => Promise<Answer>
}

/** One endpoint: the schemas that validate it are the ones that document it. */
export interface Endpoint extends Omit<Definition<unknown, unknown>, "parameters" | "handle"> {
  readonly parameters: z.ZodObject
  /** Takes what came as it came. It never throws: a call in a batch must not take others with it. */
  readonly run: (call: Call, body: unknown, parameters: unknown) => Promise<Answer>
}

export const NO_PARAMETERS = z.object({})
export const NO_BODY = z.undefined()

export function endpoint<Parameters, Body>({ handle, ...definition }: Definition<Parameters, Body>): Endpoint {
  const { name, body: bodySchema, parameters: parametersSchema } = definition
  return {
    ...definition,
    run: (call, sentBody, sentParameters) =>
      guarded(name, call, async () => {
        const parameters = parametersSchema.safeParse(sentParameters)
        if (!parameters.success) return misfit("invalid_parameter", parameters.error)
        const body = bodySchema.safeParse(sentBody)
        if (!body.success) return misfit("invalid_body", body.error)
        return handle(call, body.data, parameters.data)
      }),
  }
}

async function guarded(name: string, { parts }: Call, answer: () => Promise<Answer>): Promise<Answer> {
  try {
    return await answer()
  } catch (error) {
    parts.observe({ event: "fault", name, error: errorName(error) })
    if (error instanceof LedgerUnavailable) return passingProblem("overloaded", error.retryAfterSeconds, error.message)
    return problem("internal", "Something went wrong here; try again.")
  }
}
