import { Client, ProtocolError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { z } from "zod"

/** For whom a visitor speaks. */
export interface Who {
  readonly principal: string
  readonly tenant: string
}

/** A server to visit. */
export interface Target {
  /** The MCP endpoint. */
  readonly url: string
  token(who: Who): Promise<string>
}

export type Answers = Readonly<Record<string, unknown>>

/** What a call came to, as far as the demonstration looks at it. */
export type Reply =
  | { readonly kind: "question"; readonly message: string; readonly state: string }
  | { readonly kind: "outcome"; readonly status: string; readonly text: string }
  | { readonly kind: "refused"; readonly code: number }

const Wire = z.looseObject({
  resultType: z.string().optional(),
  requestState: z.string().optional(),
  inputRequests: z.record(z.string(), z.looseObject({ params: z.looseObject({ message: z.string() }) })).optional(),
  content: z.array(z.looseObject({ text: z.string().optional() })).optional(),
  structuredContent: z.looseObject({ status: z.string().optional() }).optional(),
})

const Listed = z.looseObject({
  structuredContent: z.looseObject({ databases: z.array(z.looseObject({ name: z.string() })) }),
})

/** A person with the official client, who answers by hand so that answers can be repeated, changed and raced. */
export class Visitor {
  readonly #client: Client

  private constructor(client: Client) {
    this.#client = client
  }

  static async connect(target: Target, who: Who): Promise<Visitor> {
    const client = new Client(
      { name: "waxseal-demo", version: "1.0.0" },
      {
        capabilities: { elicitation: { form: {} } },
        versionNegotiation: { mode: { pin: "2026-07-28" } },
        inputRequired: { autoFulfill: false },
      },
    )
    const headers = { authorization: `Bearer ${await target.token(who)}` }
    await client.connect(new StreamableHTTPClientTransport(new URL(target.url), { requestInit: { headers } }))
    return new Visitor(client)
  }

  /** Calls `provision_database`; a second leg has the state and the answers. */
  async provision(name: string, leg: { state?: string; answers?: Answers } = {}): Promise<Reply> {
    const { state: requestState, answers: inputResponses } = leg
    const params = {
      name: "provision_database",
      arguments: { name },
      ...(requestState !== undefined && { requestState }),
      ...(inputResponses && { inputResponses }),
    }
    try {
      return reply(await this.#client.request({ method: "tools/call", params }, { allowInputRequired: true }))
    } catch (error) {
      if (error instanceof ProtocolError) return { kind: "refused", code: error.code }
      throw error
    }
  }

  /** The first leg: the state that comes with the question. */
  async ask(name: string): Promise<string> {
    const asked = await this.provision(name)
    if (asked.kind !== "question") throw new Error(`${name} was not asked about`)
    return asked.state
  }

  async created(): Promise<string[]> {
    const result = await this.#client.callTool({ name: "list_created", arguments: {} })
    return Listed.parse(result).structuredContent.databases.map(({ name }) => name)
  }

  async leave(): Promise<void> {
    await this.#client.close()
  }
}

function reply(result: unknown): Reply {
  const { resultType, requestState, inputRequests, content, structuredContent } = Wire.parse(result)
  if (resultType === "input_required") {
    const [request] = Object.values(inputRequests ?? {})
    return { kind: "question", message: request?.params.message ?? "", state: requestState ?? "" }
  }
  return { kind: "outcome", status: structuredContent?.status ?? "none", text: content?.[0]?.text ?? "" }
}
