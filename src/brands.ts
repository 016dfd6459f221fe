/** Names that the type checker keeps apart. A brand is given by the code that has proven the value, and by no other. */
declare const brand: unique symbol
type Brand<Base, Name extends string> = Base & { readonly [brand]: Name }

/** A sealed `requestState`: made by `Sealer.seal`, never by a cast of something that came from outside. */
export type Token = Brand<string, "Token">

/** One logical action across all its rounds: 12 random bytes as 16 characters of base64url. */
export type OperationId = Brand<string, "OperationId">

/** Whose data it is: a claim's value or the issuer, in two spellings that cannot meet. */
export type TenantId = Brand<string, "TenantId">

/** Who asks: issuer, subject and client in one injective spelling, from verified claims. */
export type Principal = Brand<string, "Principal">

/** Any value that JSON can write. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [member: string]: Json }
