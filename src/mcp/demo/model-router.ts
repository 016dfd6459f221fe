import type { LlmSettings } from "../../settings.ts"

/** How much care a person wants; which model that means is a matter of configuration, and never shown. */
export type Mode = keyof LlmSettings["models"]

export type Completion =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly problem: "time_out" | "unavailable" | "refused" | "empty" }

/** Who answers when the mode's own model does not. */
const FALLBACK: Record<Mode, Mode> = { high_quality: "balanced", balanced: "fast", fast: "balanced" }

/** One try may take this long; a try that met 429 or 5xx is made once more, after the pause that the library keeps. */
const TRY_MS = 9_000
const RETRIES = 1

/** What an answer may cost at most, in tokens. What a question may cost is bounded by the length of its text. */
const ANSWER_TOKENS = 1_000

export interface Task {
  readonly mode: Mode
  /** What to do with the text. */
  readonly instructions: string
  readonly text: string
  readonly traceparent: string | undefined
  /** Ends everything, tries and pauses too. */
  readonly signal: AbortSignal
}

/** Asks the model of a mode, and where that does not answer, its fallback. */
export async function complete(llm: LlmSettings, task: Task): Promise<Completion> {
  const { mode, instructions, text, traceparent, signal } = task
  // Imported when it is needed: most requests never are.
  const { OpenAI, APIConnectionTimeoutError, APIUserAbortError, APIError } = await import("openai")
  const client = new OpenAI({
    baseURL: llm.baseUrl,
    apiKey: llm.apiKey ?? "none",
    timeout: TRY_MS,
    maxRetries: RETRIES,
    logLevel: "off",
  })

  async function ask(model: string): Promise<Completion> {
    try {
      const { choices } = await client.chat.completions.create(
        {
          model,
          max_completion_tokens: ANSWER_TOKENS,
          messages: [
            { role: "system", content: instructions },
            { role: "user", content: text },
          ],
        },
        { signal, ...(traceparent !== undefined && { headers: { traceparent } }) },
      )
      const answer = choices?.[0]?.message?.content?.trim()
      return answer ? { ok: true, text: answer } : { ok: false, problem: "empty" }
    } catch (error) {
      return { ok: false, problem: problemOf(error) }
    }
  }

  function problemOf(error: unknown): Extract<Completion, { ok: false }>["problem"] {
    if (error instanceof APIConnectionTimeoutError || error instanceof APIUserAbortError) return "time_out"
    const status = error instanceof APIError ? error.status : undefined
    return status === 401 || status === 403 ? "refused" : "unavailable"
  }

  const first = await ask(llm.models[mode])
  const worthAnotherTry = !first.ok && first.problem !== "refused" && !signal.aborted
  return worthAnotherTry ? ask(llm.models[FALLBACK[mode]]) : first
}
