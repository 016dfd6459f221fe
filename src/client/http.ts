import type * as z from "zod/mini"
import { WaxsealError } from "./errors.ts"
import { pause, unlessAborted } from "./pause.ts"
import { errorOf, notTheApi, retryAfterOf } from "./problem.ts"
import { createSilence, readAnswer } from "./received.ts"

/** Where the API is, and who calls it. */
export interface ClientOptions {
  /** The deployment's origin, such as `https://waxseal.example.com`. */
  readonly url: string
  /**
   * An access token for `<url>/v1`, or what gives one: asked before each request, so let it keep what is still good. Where
   * it fails it is asked again, until the call's time is up; then its own error is passed on.
   */
  readonly token: string | (() => string | Promise<string>)
  /** How long a call may take with all its retries, in milliseconds: 1 to 2^31 - 1, by default 15,000. */
  readonly timeoutMs?: number
  /** By default the runtime's own; a Worker may give a service binding's. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
}

/** What may differ from call to call. */
export interface CallOptions {
  /** Ends the call; it then rejects with the signal's reason. What the call does may have happened. */
  readonly signal?: AbortSignal | undefined
  /** In place of the client's. */
  readonly timeoutMs?: number
}

export interface Call<Answer> {
  readonly method: "GET" | "POST"
  /** Below `/v1`. */
  readonly path: string
  /** What cannot be written as JSON is refused as the API refuses what does not fit: `invalid_body`. */
  readonly body?: unknown
  readonly answer: z.ZodMiniType<Answer>
  /** Made twice, it does what it does once. Other calls are made again only where the API says that it did nothing. */
  readonly repeatable: boolean
  /** So long may the API take on purpose. */
  readonly waitSeconds?: number | undefined
}

export type Send = <Answer>(call: Call<Answer>, options?: CallOptions) => Promise<Answer>

const DEFAULT_TIMEOUT_MS = 15_000
const LONGEST_BODY_BYTES = 2_097_152
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 2_000
/** An answer that was lost without a word is asked for again after this share of the time. */
const PATIENCE = 1 / 3
/** In UTF-16 units. Nothing is heard while a body is on its way, and the API waits so long for it. */
const LARGE_BODY = 65_536
const UPLOAD_MS = 10_000
/** Timers of most runtimes cannot wait longer. */
const LONGEST_MS = 2_147_483_647

type Tried<Answer> =
  | { readonly ok: true; readonly answer: Answer }
  | { readonly ok: false; readonly error: unknown; readonly passing: boolean }

interface Trying {
  readonly token: string
  readonly stop: AbortSignal
  readonly patienceMs: number
  /** What became of the try before, where there was one. */
  readonly failedBefore: unknown
}

/** Makes what sends calls: with the token, within their time, again where that can do no harm. */
export function createSend({
  url,
  token,
  timeoutMs: clientTimeoutMs = DEFAULT_TIMEOUT_MS,
  fetch = ownFetch,
}: ClientOptions): Send {
  const base = baseOf(url)
  if (!isTime(clientTimeoutMs)) throw new TypeError(TIMEOUT_RULE)

  const askToken = async (): Promise<unknown> => (typeof token === "string" ? token : token())

  /** Nothing is sent without a token. One that cannot be had now may be had soon; one that is no token stays so. */
  async function bearer(stop: AbortSignal): Promise<Tried<string>> {
    let given: unknown
    try {
      given = await unlessAborted(askToken(), stop)
    } catch (error) {
      stop.throwIfAborted()
      return { ok: false, error, passing: true }
    }
    if (isUsable(given)) return { ok: true, answer: given }
    return { ok: false, error: unusable(), passing: false }
  }

  async function exchange<Answer>(
    call: Call<Answer>,
    body: string | undefined,
    { token, stop, patienceMs, failedBefore }: Trying,
  ): Promise<Tried<Answer>> {
    const { method, path, repeatable } = call
    const silence = createSilence(patienceMs)
    const signal = repeatable ? AbortSignal.any([stop, silence.signal]) : stop
    const init = {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { "content-type": "application/json" }) },
      ...(body !== undefined && { body }),
      // The API never redirects, and neither token nor state may go elsewhere.
      redirect: "manual" as const,
      signal,
    }
    let received: Received
    try {
      // What is given as fetch may not know signals.
      const response = await unlessAborted(fetch(`${base}/v1${path}`, init), signal)
      received = { response, text: await readAnswer(response, silence.heard, signal) }
    } catch (cause) {
      stop.throwIfAborted()
      if (cause instanceof WaxsealError) return { ok: false, error: cause, passing: false }
      return {
        ok: false,
        error: signal.aborted ? timedOut(failedBefore) : unreachable(cause),
        passing: repeatable,
      }
    } finally {
      silence.end()
    }
    return read(call, received)
  }

  return async (call, { signal, timeoutMs = clientTimeoutMs } = {}) => {
    if (!isTime(timeoutMs)) throw new WaxsealError("invalid_parameter", TIMEOUT_RULE)
    const body = textOf(call.body)
    const waitMs = (call.waitSeconds ?? 0) * 1_000
    const milliseconds = Math.min(Math.ceil(timeoutMs) + waitMs, LONGEST_MS)
    const uploadMs = body !== undefined && body.length > LARGE_BODY ? UPLOAD_MS : 0
    const patienceMs = Math.ceil(timeoutMs * PATIENCE) + waitMs + uploadMs
    const endsAt = performance.now() + milliseconds
    const timeUp = AbortSignal.timeout(milliseconds)
    const stop = signal ? AbortSignal.any([signal, timeUp]) : timeUp
    let wasSent = false
    let failedBefore: unknown
    try {
      for (let tries = 0; ; tries += 1) {
        stop.throwIfAborted()
        const had = await bearer(stop)
        wasSent ||= had.ok
        const tried = had.ok ? await exchange(call, body, { token: had.answer, stop, patienceMs, failedBefore }) : had
        if (tried.ok) return tried.answer
        const wait = Math.max(backOff(tries), retryAfterMs(tried.error))
        if (!tried.passing || performance.now() + wait >= endsAt) throw tried.error
        failedBefore = tried.error
        await pause(wait, stop)
      }
    } catch (error) {
      if (!timeUp.aborted || error !== timeUp.reason) throw error
      throw wasSent ? timedOut(failedBefore) : noToken()
    }
  }
}

interface Received {
  readonly response: Response
  readonly text: string
}

function read<Answer>({ answer, repeatable }: Call<Answer>, { response, text }: Received): Tried<Answer> {
  const { status } = response
  const value = jsonOf(text)
  if (response.ok) {
    const parsed = answer.safeParse(value)
    if (parsed.success) return { ok: true, answer: parsed.data }
    return { ok: false, error: notTheApi(status), passing: false }
  }
  const error = errorOf(status, value, retryAfterOf(response.headers.get("retry-after")))
  return { ok: false, error, passing: didNothing(error) || (repeatable && mayPass(error)) }
}

function timedOut(cause?: unknown): WaxsealError {
  const message = "No answer came in time; what was asked for may have happened."
  return new WaxsealError("timed_out", message, {}, cause === undefined ? undefined : { cause })
}

function noToken(): WaxsealError {
  return new WaxsealError("timed_out", "No access token came in time; nothing was sent.")
}

function unreachable(cause: unknown): WaxsealError {
  return new WaxsealError("unreachable", "The connection failed; what was asked for may have happened.", {}, { cause })
}

/** A call too many is counted, and nothing else. */
function didNothing({ status }: WaxsealError): boolean {
  return status === 429
}

/** Faults of the API, and of what stands in front of it; and a slow way there. Settings do not mend themselves. */
function mayPass({ status = 0, code }: WaxsealError): boolean {
  return (status >= 500 && code !== "misconfigured") || status === 408
}

/** Doubles, and half of it is chance, so that those who failed together do not come back together. */
function backOff(tries: number): number {
  const longest = Math.min(FIRST_PAUSE_MS * 2 ** tries, LONGEST_PAUSE_MS)
  return (longest * (1 + Math.random())) / 2
}

function retryAfterMs(error: unknown): number {
  return error instanceof WaxsealError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0
}

/** RFC 6750 2.1, and a little more. The runtime's own refusal would quote the token, and look like a failed connection. */
function isUsable(token: unknown): token is string {
  return typeof token === "string" && /^[\x21-\x7e]+$/.test(token)
}

function unusable(): WaxsealError {
  return new WaxsealError("unusable_token", "The access token is empty, or has characters other than visible ASCII.")
}

/** What the API is sure to refuse is not sent. */
function textOf(body: unknown): string | undefined {
  const text = jsonTextOf(body)
  // In UTF-16 units: it has at least as many bytes.
  if (text === undefined || text.length <= LONGEST_BODY_BYTES) return text
  throw new WaxsealError("body_too_large", "What was to be sent is larger than 2 MiB; send less.")
}

function jsonTextOf(body: unknown): string | undefined {
  try {
    return JSON.stringify(body, onlyJson)
  } catch (cause) {
    const errors = [{ path: "", message: "cannot be written as JSON" }]
    throw new WaxsealError("invalid_body", "What was to be sent is no JSON; mend it.", { errors }, { cause })
  }
}

/** Numbers that JSON has not would be written as null, without a word. */
function onlyJson(_name: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError("JSON has finite numbers only.")
  return value
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const TIMEOUT_RULE = `timeoutMs must be a number of milliseconds from 1 to ${LONGEST_MS}.`

function isTime(milliseconds: unknown): boolean {
  return typeof milliseconds === "number" && milliseconds >= 1 && milliseconds <= LONGEST_MS
}

/** What is refused is not quoted: it may hold a password. */
function baseOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed?.protocol !== "https:" && parsed?.protocol !== "http:") {
    throw new TypeError("url is not an http or https URL.")
  }
  const { origin, pathname, username, password, search, hash } = parsed
  if (`${username}${password}${search}${hash}` !== "") {
    throw new TypeError("url must have no user, password, query or fragment; give the deployment's origin.")
  }
  return `${origin}${pathname.replace(/\/+$/, "")}`
}

/** Called as a function: some runtimes' own refuses to be a method of another object. */
function ownFetch(url: string, init: RequestInit): Promise<Response> {
  return fetch(url, init)
}
