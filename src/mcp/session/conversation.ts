import {
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  type McpServer,
  type ServerContext,
  type TransportSendOptions,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server"
import type { RuntimeParts } from "../../operation/index.ts"
import { authInfo } from "../auth-info.ts"
import { type Exchange, readCalled } from "../exchange.ts"
import type { Exchanges } from "../offer.ts"
import { rpcError } from "../rpc-error.ts"
import { Calls, Cancelled } from "./calls.ts"
import type { Session, SessionRequest } from "./message.ts"

/** The SDK's transport, whose questions go out under names of our own. */
class NamingTransport extends WebStandardStreamableHTTPServerTransport {
  readonly #calls: Calls

  constructor(sessionId: string, calls: Calls) {
    super({ sessionIdGenerator: () => sessionId })
    this.#calls = calls
  }

  override async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const of = options?.relatedRequestId
    return super.send(this.#calls.outgoing(message, of), of === undefined ? {} : { relatedRequestId: of })
  }
}

/** The memory of one session: the SDK's server and transport, and the calls that are under way. */
export class Conversation {
  readonly #session: Session
  readonly #calls = new Calls()
  readonly #transport: NamingTransport
  readonly #exchanges = new WeakMap<Request, Exchange>()

  private constructor(session: Session) {
    this.#session = session
    this.#transport = new NamingTransport(session.id, this.#calls)
  }

  /** Says `initialize` again in the client's stead: all that it said, and all that matters, is in the session's id. */
  static async open(
    session: Session,
    audience: string,
    patienceMs: number,
    createServer: (exchanges: Exchanges) => McpServer,
  ): Promise<Conversation> {
    const conversation = new Conversation(session)
    const of = (context: ServerContext) => conversation.#exchangeOf(context)
    await createServer({ era: "legacy", only: undefined, patienceMs, of }).connect(conversation.#transport)
    const initialize = { jsonrpc: "2.0", id: 0, method: "initialize", params: session.opening }
    const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" }
    const request = new Request(audience, { method: "POST", headers })
    const answer = await conversation.#transport.handleRequest(request, { parsedBody: initialize })
    await answer.text()
    return conversation
  }

  /** Answers one message. Calls are answered on a stream, on which their questions travel too. */
  async take(request: SessionRequest, parts: RuntimeParts): Promise<Response> {
    const { identity, audience, metadata, expiresAt, hearing, body } = request
    if (isJSONRPCResponse(body)) {
      const answer = this.#calls.answer(body, identity)
      if (!answer) return rpcError(400, -32_600, NOBODY_WAITS)
      const taken = await this.#handOver(request, answer.message)
      if (taken.status !== 202) answer.undo()
      return taken
    }
    const exchange = { identity, audience, metadata, expiresAt, hearing, body, called: readCalled(body), parts }
    if (!isJSONRPCRequest(body)) {
      const answer = await this.#handOver(request, body, exchange)
      if (answer.status === 202) this.#forgetCancelled(body)
      return answer
    }
    const refusal = this.#calls.begin(body.id, exchange)
    if (refusal) return refusal
    const answer = await this.#handOver(request, body, exchange)
    if (answer.status !== 200) this.#calls.end(body.id)
    return answer
  }

  /** Ends every stream and stops what has not begun to act. */
  async close(): Promise<void> {
    await this.#transport.close()
  }

  #handOver(sent: SessionRequest, message: unknown, exchange?: Exchange): Promise<Response> {
    const headers = { ...sent.headers, "mcp-session-id": this.#session.id }
    const request = new Request(sent.audience, { method: "POST", headers })
    if (exchange) this.#exchanges.set(request, exchange)
    return this.#transport.handleRequest(request, { parsedBody: message, authInfo: authInfo(sent) })
  }

  /** The SDK answers a cancelled call with nothing, and would leave its stream open. */
  #forgetCancelled(message: unknown): void {
    const id = Cancelled.safeParse(message).data?.params.requestId
    if (id === undefined) return
    this.#calls.end(id)
    this.#transport.closeSSEStream(id)
  }

  #exchangeOf({ http }: ServerContext): Exchange {
    const exchange = http?.req && this.#exchanges.get(http.req)
    if (!exchange) throw new Error("A request reached a session's server without passing its door.")
    return exchange
  }
}

const NOBODY_WAITS = "Nobody waits for this answer any more; make the call that asked again."
