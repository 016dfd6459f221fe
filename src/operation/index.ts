/*
 * The runtime of multi round-trip requests: a handler that reads from top to bottom, asks, and commits once.
 * Knows tokens and the ledger; knows nothing of HTTP, of who issued an access token, or of any particular tool.
 */
export { type Operation, type OperationOptions, operation } from "./define.ts"
export type { Dialogue } from "./dialogue.ts"
export { done, type Effect, type EffectContext, type EffectResult, failed, refused } from "./effect.ts"
export type { Caller, LegEnd, OperationEvent, RuntimeParts } from "./leg.ts"
export { form, type Question } from "./question.ts"
export type { Report, Status } from "./report.ts"
export { type Call, InvalidArguments, runLeg } from "./runtime.ts"
