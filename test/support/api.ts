import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { z } from "zod"
import { makeIdentity, type TestIdentity, type TokenOptions } from "./identity.ts"
import { type Running, startWorker, type WorkerOptions } from "./workerd.ts"

export const ALL_SCOPES = "state:seal state:open state:redeem operations"

export interface ApiAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: Readonly<Record<string, unknown>>
}

export interface ApiCall {
  /** Whose access token is sent; default: that of `server`, with all scopes. `null`: none is. */
  readonly as?: Partial<TokenOptions> | null
  /** Default: POST where there is a body, else GET. */
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as it is. */
  readonly raw?: RequestInit["body"]
  readonly signal?: AbortSignal
}

export interface Api {
  readonly worker: Running
  readonly identity: TestIdentity
  token(options?: Partial<TokenOptions>): Promise<string>
  /** Calls a path of the server, with a body in JSON where one is given. */
  call(path: string, body?: unknown, options?: ApiCall): Promise<ApiAnswer>
  stop(): Promise<void>
}

export interface ApiOptions extends Partial<Omit<WorkerOptions, "bindings">> {
  /** Laid over the settings that trust the issuer; `undefined` leaves one out. */
  readonly bindings?: Readonly<Record<string, string | undefined>>
}

/** A Worker with the sealing API, in raw workerd, and an issuer of access tokens for it. */
export async function startApi({ bindings, ...options }: ApiOptions = {}): Promise<Api> {
  const identity = await makeIdentity()
  const settings = Object.fromEntries(
    Object.entries({ ...identity.bindings, ...bindings }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  )
  const folder = options.storage ?? (await mkdtemp(join(tmpdir(), "waxseal-")))
  const worker = await startWorker({ ...options, storage: folder, bindings: settings })
  const tokens = new Map<string, Promise<string>>()
  const token = (changes: Partial<TokenOptions> = {}) => {
    const wanted = { principal: "server", audience: `${worker.url}/v1`, scope: ALL_SCOPES, ...changes }
    const name = JSON.stringify(wanted)
    const made = tokens.get(name) ?? identity.token(wanted)
    tokens.set(name, made)
    return made
  }
  return {
    worker,
    identity,
    token,
    call: async (path, body, { as = {}, method, headers, raw, signal } = {}) => {
      const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body))
      const response = await fetch(`${worker.url}${path}`, {
        method: method ?? (sent === undefined ? "GET" : "POST"),
        headers: {
          ...(as !== null && { authorization: `Bearer ${await token(as)}` }),
          ...(sent !== undefined && { "content-type": "application/json" }),
          ...headers,
        },
        ...(sent !== undefined && { body: sent, duplex: "half" }),
        ...(signal && { signal }),
      })
      return { status: response.status, headers: response.headers, body: readBody(await response.text()) }
    },
    stop: async () => {
      await worker.stop()
      if (options.storage === undefined) await rm(folder, { recursive: true, force: true })
    },
  }
}

const Body = z.record(z.string(), z.unknown())

function readBody(text: string): Readonly<Record<string, unknown>> {
  return text === "" ? {} : Body.parse(JSON.parse(text))
}

/** A member that must be a string. */
export function text({ body, status }: ApiAnswer, member: string): string {
  const value = body[member]
  if (typeof value !== "string") throw new Error(`The answer (HTTP ${status}) has no text ${member}.`)
  return value
}
