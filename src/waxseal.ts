/*
 * The library: what a Worker of your own is made of. Define operations and inquiries, offer them as tools, prompts or
 * resources, and export the Worker and the Ledger. It must not know of the product's own tools.
 */
export { Ledger } from "./ledger/index.ts"
export { inquiryPrompt } from "./mcp/asking-prompt.ts"
export { operationResource } from "./mcp/asking-resource.ts"
export { inquiryTool, operationTool } from "./mcp/asking-tool.ts"
export { type Announcer, announce, Changes } from "./mcp/changes/index.ts"
export type { Exchange } from "./mcp/exchange.ts"
export { type Era, type Exchanges, type Offer, plainOffer, type Serving, serveOffers, serverOf } from "./mcp/offer.ts"
export type { CreateServer } from "./mcp/sdk.ts"
export { SessionList } from "./mcp/session/index.ts"
export { mcpResource } from "./mcp-resource.ts"
export { type SessionClass, sessionOf } from "./mcp-session.ts"
export {
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
  InvalidArguments,
  inquiry,
  type Objection,
  type Operation,
  type OperationRules,
  operation,
  type Question,
  type Recheck,
  type Roots,
  type Rules,
  refused,
  roots,
  type Sample,
  sampling,
  url,
} from "./operation/index.ts"
export type { Resource } from "./resource.ts"
export type { Bindings } from "./services.ts"
export { createWorker, type ResourceWorker } from "./worker.ts"
