import type { GetPromptResult } from "@modelcontextprotocol/server"
import { z } from "zod"
import { form, inquiry } from "../../operation/index.ts"
import { inquiryPrompt } from "../asking-prompt.ts"

const Arguments = z.object({
  incident: z.string().max(4_000).optional().describe("What happened, in your own words"),
})

const Frame = z.object({
  severity: z.enum(["low", "medium", "high", "critical"]).describe("How bad it is"),
  audience: z.enum(["engineers", "management", "customers"]).describe("Who will read it"),
})

const incidentReport = inquiry(
  { name: "incident_report", input: Arguments, rounds: 3, timeoutSeconds: 900 },
  async (dialogue, { incident }): Promise<GetPromptResult> => {
    const { severity, audience } = await dialogue.ask(
      "frame",
      form(Frame, "How bad is it, and who will read the report?"),
    )
    const subject = incident === undefined ? "the incident that we have just discussed" : `this incident: ${incident}`
    const text = `Write an incident report of ${severity} severity for ${audience} about ${subject}`
    return { description: "An incident report", messages: [{ role: "user", content: { type: "text", text } }] }
  },
)

export const incidentReportPrompt = inquiryPrompt(incidentReport, {
  title: "Incident report",
  description: "Asks how severe an incident is and who will read about it, and makes the prompt for its report.",
})
