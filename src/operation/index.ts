/*
 * The runtime of multi round-trip requests: a handler that reads from top to bottom, asks, and commits once.
 * Knows tokens and the ledger; knows nothing of HTTP, of who issued an access token, or of any particular tool.
 */
export { type Inquiry, inquiry, type Operation, operation } from "./define.ts"
export {
  type Commitment,
  changed,
  denied,
  done,
  type Effect,
  type EffectContext,
  type EffectResult,
  failed,
  type Objection,
  type Recheck,
  type RecheckContext,
  refused,
} from "./effect.ts"
export type { InquiryDialogue } from "./inquiry-dialogue.ts"
export type { Caller, InquiryEnd, LegEnd, OperationEvent, RuntimeParts } from "./leg.ts"
export { DefinitionError } from "./mistake.ts"
export type { OperationDialogue } from "./operation-dialogue.ts"
export type { Question } from "./question.ts"
export { form } from "./questions/form.ts"
export { type Roots, roots } from "./questions/roots.ts"
export { type Sample, sampling } from "./questions/sampling.ts"
export { url } from "./questions/url.ts"
export { type Report, STATUSES, type Status } from "./report.ts"
export type { OperationRules, Rules } from "./rules.ts"
export { type Call, InvalidArguments, runInquiry, runOperation } from "./runtime.ts"
