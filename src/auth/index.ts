/*
 * Who is calling: verifies access tokens (OAuth 2.1 resource server) and names tenant, principal and scopes.
 * Knows nothing of MCP, tokens of state, or ledgers.
 */
export { type Challenge, challenge, type Refusal, refuse } from "./challenge.ts"
export { type Identity, tenantNamed } from "./identity.ts"
export { jurisdictionsOf } from "./jurisdictions.ts"
export { metadataPath, resourceMetadata } from "./metadata.ts"
export { API_SCOPES, MCP_SCOPES } from "./scopes.ts"
export { createVerifier, type Verified, type Verifier } from "./verifier.ts"
