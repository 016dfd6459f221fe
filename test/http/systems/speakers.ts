import { Client, type ClientOptions, ProtocolError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { z } from "zod"
import type { TokenOptions } from "../../support/identity.ts"
import { call } from "../../support/mcp.ts"

export type Who = Omit<TokenOptions, "audience">

/** What a system is called by. */
export interface Called {
  readonly method: "tools/call" | "prompts/get" | "resources/read"
  /** The tool's or prompt's name, or the resource's URI. */
  readonly target: string
  readonly arguments?: Readonly<Record<string, string>>
}

/** One leg: a call, and what a second one brings. */
export interface Leg extends Called {
  readonly state?: string
  readonly answers?: Readonly<Record<string, unknown>>
}

/** What a leg came to, said alike for tools, prompts and resources. */
export type Said =
  | { readonly kind: "asked"; readonly keys: readonly string[]; readonly state: string }
  | {
      readonly kind: "outcome"
      readonly status: string
      readonly retryable: boolean
      readonly recorded: string | undefined
      readonly isError: boolean
      /** All of it, for what a system adds. */
      readonly text: string
    }
  | { readonly kind: "refused"; readonly code: number; readonly message: string; readonly data: unknown }

/** Says one leg to a server, for Alice or somebody else. */
export type Speak = (leg: Leg, who?: Who) => Promise<Said>

export interface Server {
  /** The MCP endpoint. */
  readonly url: string
  token(who: Who): Promise<string>
}

export const ALICE: Who = { principal: "alice" }

/** Speaks the wire format by hand. */
export function rawSpeaker({ url, token }: Server): Speak {
  return async ({ method, target, arguments: args, state, answers }, who = ALICE) => {
    const { body } = await call(url, {
      token: await token(who),
      method,
      name: target,
      ...(args && { arguments: args }),
      ...(state !== undefined && { requestState: state }),
      ...(answers && { inputResponses: answers }),
    })
    const message = Message.parse(body)
    return "error" in message ? saidByError(message.error) : saidByResult(message.result)
  }
}

/** Speaks through official clients, one for each person, that leave the answering to the test. */
export function officialSpeaker(server: Server): { readonly speak: Speak; readonly close: () => Promise<void> } {
  const clients = new Map<string, Promise<Client>>()
  const clientOf = (who: Who) => {
    const name = JSON.stringify(who)
    const client = clients.get(name) ?? connect(server, who, "modern", { inputRequired: { autoFulfill: false } })
    clients.set(name, client)
    return client
  }
  return {
    async speak(leg, who = ALICE) {
      const client = await clientOf(who)
      return said(client.request(requestOf(leg), { allowInputRequired: true }))
    },
    async close() {
      for (const client of clients.values()) await (await client).close()
    },
  }
}

/** What a request of an official client came to. */
export async function said(requested: Promise<unknown>): Promise<Said> {
  try {
    return saidByResult(Result.parse(await requested))
  } catch (error) {
    if (error instanceof ProtocolError) return saidByError(error)
    throw error
  }
}

export async function connect(
  { url, token }: Server,
  who: Who,
  era: "modern" | "legacy",
  options: ClientOptions = {},
): Promise<Client> {
  const mode = era === "modern" ? { pin: "2026-07-28" } : era
  const client = new Client(
    { name: "waxseal-test", version: "1.0.0" },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode }, ...options },
  )
  const requestInit = { headers: { authorization: `Bearer ${await token(who)}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
  return client
}

export function requestOf({ method, target, arguments: args, state, answers }: Leg) {
  const params = {
    ...(method === "resources/read" ? { uri: target } : { name: target }),
    ...(args && { arguments: args }),
    ...(state !== undefined && { requestState: state }),
    ...(answers && { inputResponses: answers }),
  }
  return { method, params }
}

/** What an outcome says of itself: a tool in its structured content, prompts and resources in an error's data. */
const Outcome = z.looseObject({
  status: z.string(),
  retryable: z.boolean(),
  operationId: z.string(),
  nextAction: z.string().min(1),
  recorded: z.string().optional(),
})

type Ending = Pick<z.infer<typeof Outcome>, "status" | "retryable" | "recorded">

const Result = z.looseObject({
  resultType: z.string().optional(),
  requestState: z.string().optional(),
  inputRequests: z.record(z.string(), z.unknown()).optional(),
  structuredContent: Outcome.optional(),
  isError: z.boolean().optional(),
})

const Failure = z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() })

const Message = z.union([z.object({ result: Result }), z.object({ error: Failure })])

/** A prompt or a resource that is given. */
const COMPLETED: Ending = { status: "completed", retryable: false }

/** An outcome other than `completed`, of a prompt or a resource. */
const OUTCOME_CODE = 1001

function saidByResult(result: z.infer<typeof Result>): Said {
  const { resultType, requestState = "", inputRequests = {}, structuredContent = COMPLETED, isError = false } = result
  if (resultType === "input_required") return { kind: "asked", keys: Object.keys(inputRequests), state: requestState }
  return outcome(structuredContent, isError, result)
}

function saidByError({ code, message, data }: Pick<ProtocolError, "code" | "message" | "data">): Said {
  if (code !== OUTCOME_CODE) return { kind: "refused", code, message, data }
  const no = Outcome.parse(data)
  return outcome(no, no.status !== "declined" && no.status !== "cancelled", data)
}

function outcome({ status, retryable, recorded }: Ending, isError: boolean, all: unknown): Said {
  return { kind: "outcome", status, retryable, recorded, isError, text: JSON.stringify(all) }
}
