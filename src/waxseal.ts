/**
 * The library: what a Worker of your own is made of. Define operations and inquiries, offer them as tools, prompts or
 * resources, and export the Worker and the Ledger. It must not know of the product's own tools.
 *
 * @module waxseal
 */
export type { Identity } from "./auth/index.ts"
export type { Json, OperationId, Principal, TenantId } from "./brands.ts"
export { Ledger } from "./ledger/index.ts"
export { inquiryPrompt } from "./mcp/asking-prompt.ts"
export { operationResource } from "./mcp/asking-resource.ts"
export { inquiryTool, operationTool, type ToolConfig } from "./mcp/asking-tool.ts"
export { type Announcer, announce, Changes } from "./mcp/changes/index.ts"
export type { Called, Exchange } from "./mcp/exchange.ts"
export {
  type Era,
  type Exchanges,
  type Guard,
  type Offer,
  plainOffer,
  type Served,
  type Serving,
  serveOffers,
  serverOf,
} from "./mcp/offer.ts"
export type { CreateServer } from "./mcp/sdk.ts"
export { SessionList } from "./mcp/session/index.ts"
export { mcpResource } from "./mcp-resource.ts"
export { type SessionClass, sessionOf } from "./mcp-session.ts"
export {
  type Caller,
  type Commitment,
  changed,
  DefinitionError,
  denied,
  done,
  type Effect,
  type EffectContext,
  type EffectResult,
  failed,
  form,
  type Inquiry,
  type InquiryDialogue,
  InvalidArguments,
  inquiry,
  type Objection,
  type Operation,
  type OperationDialogue,
  type OperationRules,
  operation,
  type Question,
  type Recheck,
  type RecheckContext,
  type Roots,
  type Rules,
  refused,
  roots,
  type Sample,
  sampling,
  url,
} from "./operation/index.ts"
export type { Place, Resource } from "./resource.ts"
export type { Bindings } from "./services.ts"
export { createWorker, type ResourceWorker } from "./worker.ts"
