import { z } from "zod"
import { done, type EffectResult, failed, form, InvalidArguments, operation } from "../../operation/index.ts"
import type { LlmSettings } from "../../settings.ts"
import { operationTool } from "../asking-tool.ts"
import { type Completion, complete } from "../demo/model-router.ts"
import { demoSettings } from "../demo/settings.ts"

/** Bounds what a summary can cost: some 15,000 tokens. */
const LONGEST_DOCUMENT = 50_000

const Arguments = z.object({
  document: z.string().min(1).max(LONGEST_DOCUMENT).describe("Text to summarise, at most 50,000 characters"),
})

const Preferences = z.object({
  processing_mode: z.enum(["fast", "balanced", "high_quality"]).describe("How much care to take"),
  language: z.string().min(1).max(40).describe("Language of the summary, such as English"),
  output_type: z.string().min(1).max(40).describe("Form of the summary, such as bullet points or one paragraph"),
})

const summarizeDocument = operation(
  {
    name: "summarize_document",
    input: Arguments,
    rounds: 3,
    timeoutSeconds: 900,
    replay: "result",
    leaseSeconds: 25,
    onLeaseEnd: "rerun",
  },
  async (op, { document }) => {
    const preferences = form(Preferences, "How shall the document be summarised?")
    const { processing_mode, language, output_type } = await op.ask("preferences", preferences)
    return op.commit({
      effect: async ({ signal, traceparent }) => {
        const instructions = `Summarise the user's text in ${language}, as ${output_type}. Write the summary alone.`
        const task = { mode: processing_mode, instructions, text: document, traceparent, signal }
        return outcomeOf(await complete(llmSettings(), task))
      },
    })
  },
)

export const summarizeDocumentTool = operationTool(summarizeDocument, {
  title: "Summarise a document",
  description: "Asks the person how, and summarises a document with a language model.",
  result: { summary: z.string().optional() },
  annotations: { readOnlyHint: true, openWorldHint: true },
})

function llmSettings(): LlmSettings {
  const { llm } = demoSettings()
  if (llm === undefined) throw new InvalidArguments("Documents are not summarised here any more.")
  return llm
}

/** A summary that was not made changed nothing, so it may always be tried again. */
function outcomeOf(completion: Completion): EffectResult {
  if (completion.ok) return done({ summary: completion.text }, completion.text)
  switch (completion.problem) {
    case "time_out":
      return failed("The language model did not answer in time.")
    case "unavailable":
      return failed("The language model is not available.")
    case "refused":
      return failed("The language model refused this server's credentials.")
    case "empty":
      return failed("The language model answered with nothing.")
  }
}
