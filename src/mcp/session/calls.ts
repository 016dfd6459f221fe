import {
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  type JSONRPCResponse,
  type RequestId,
} from "@modelcontextprotocol/server"
import { z } from "zod"
import type { Identity } from "../../auth/index.ts"
import type { Exchange } from "../exchange.ts"
import { rpcError } from "../rpc-error.ts"

/** Calls of a session that may run, or wait for a person, at one time. */
const MOST_CALLS = 16

const ID_IN_USE = "A call with this id is under way; send each call with an id of its own."
const TOO_MANY = `${MOST_CALLS} calls of this session are under way; wait for one to end.`

/** A call goes on for whoever answered its last question, with the scopes of that answer's access token. */
type Call = Omit<Exchange, "identity"> & { identity: Identity }

interface Question {
  /** As the SDK numbers it. */
  readonly id: RequestId
  readonly call: Call
}

/** A client's answer to a question. */
interface Answer {
  /** As the server awaits it. */
  readonly message: JSONRPCResponse
  /** Lets the question wait on, for an answer that did not arrive. */
  readonly undo: () => void
}

/** What either side says of a request that it has no use for any more. */
export const Cancelled = z.object({
  method: z.literal("notifications/cancelled"),
  params: z.looseObject({ requestId: z.union([z.string(), z.number()]) }),
})

/**
 * The calls of a session that are under way, and the questions that they have put.
 *
 * The SDK numbers questions from 0 in every server that it makes. An answer that arrives after the server was made anew
 * would then count for another question than the person was shown, so on the wire each question has an id of its own that
 * was never used before and answers one time.
 */
export class Calls {
  readonly #calls = new Map<RequestId, Call>()
  readonly #questions = new Map<string, Question>()

  /** Takes up a call; the refusal where it may not begin. */
  begin(id: RequestId, call: Call): Response | undefined {
    if (this.#calls.has(id)) return rpcError(400, -32_600, ID_IN_USE, {}, id)
    if (this.#calls.size >= MOST_CALLS) return rpcError(429, -32_000, TOO_MANY, { "Retry-After": "1" }, id)
    this.#calls.set(id, call)
    return undefined
  }

  /** Forgets a call and what it has asked: answers come too late from now on. */
  end(id: RequestId): void {
    const call = this.#calls.get(id)
    this.#calls.delete(id)
    for (const [name, question] of this.#questions) if (question.call === call) this.#questions.delete(name)
  }

  /** What the server says, as it goes on the wire. */
  outgoing(message: JSONRPCMessage, of: RequestId | undefined): JSONRPCMessage {
    if (isJSONRPCRequest(message)) return { ...message, id: this.#ask(message.id, of) }
    if (isJSONRPCResponse(message)) {
      if (message.id !== undefined) this.end(message.id)
      return message
    }
    const cancelled = Cancelled.safeParse(message)
    return cancelled.success ? { ...message, params: this.#withdraw(cancelled.data.params) } : message
  }

  /** Takes a client's answer, once; none where nobody awaits it. The answer's sender is the call's from now on. */
  answer(message: JSONRPCResponse, identity: Identity): Answer | undefined {
    const name = String(message.id)
    const question = this.#questions.get(name)
    if (!question) return undefined
    const { id, call } = question
    const before = call.identity
    this.#questions.delete(name)
    call.identity = identity
    return {
      message: isJSONRPCErrorResponse(message) ? { ...message, id } : { ...message, id },
      undo: () => {
        call.identity = before
        this.#questions.set(name, question)
      },
    }
  }

  #ask(id: RequestId, of: RequestId | undefined): string {
    const call = of === undefined ? undefined : this.#calls.get(of)
    if (!call) throw new Error("A question belongs to a call that is under way.")
    const name = crypto.randomUUID()
    this.#questions.set(name, { id, call })
    return name
  }

  #withdraw(params: z.infer<typeof Cancelled>["params"]): Record<string, unknown> {
    const [name, question] = [...this.#questions].find(([, { id }]) => id === params.requestId) ?? []
    if (name === undefined || !question) return params
    this.#questions.delete(name)
    return { ...params, requestId: name }
  }
}
