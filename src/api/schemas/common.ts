import { z } from "zod"
import type { Json, Principal } from "../../brands.ts"
import { base64UrlToBytes } from "../../seal/index.ts"

/** What the OpenAPI document says of a schema beyond what it validates; one with an `id` is a component of its own. */
interface Documentation {
  readonly id?: string
  readonly description?: string
  readonly examples?: readonly unknown[]
  /** Members of JSON Schema for what zod cannot say. */
  readonly [keyword: string]: unknown
}

export const documented = z.registry<Documentation>()

/** Refers to a component of the OpenAPI document. */
export function reference(id: string): { readonly $ref: string } {
  return { $ref: `#/components/schemas/${id}` }
}

const LONGEST_TEXT_BYTES = 512
/** A UTF-16 unit takes at most three bytes. */
const SURELY_SHORT = Math.floor(LONGEST_TEXT_BYTES / 3)
const utf8 = new TextEncoder()

/** Any characters at all but lone surrogates, which have no bytes of their own. */
function isText(value: unknown): boolean {
  if (typeof value !== "string" || value === "" || value.length > LONGEST_TEXT_BYTES) return false
  if (!value.isWellFormed()) return false
  return value.length <= SURELY_SHORT || utf8.encode(value).length <= LONGEST_TEXT_BYTES
}

/** One check in place of three: most bodies have four texts. */
function text<Name extends string>(documentation: Documentation) {
  return z
    .custom<Name>(isText, `must be a text of 1 to ${LONGEST_TEXT_BYTES} bytes of UTF-8, without lone surrogates`)
    .register(documented, { type: "string", minLength: 1, maxLength: LONGEST_TEXT_BYTES, ...documentation })
}

export const Text = text<string>({
  id: "Text",
  description: "1 to 512 bytes of UTF-8, any characters, no lone surrogates.",
})

/** The calling server's word for its user is all there is: its own access token stands for it. */
export const PrincipalName = text<Principal>({
  id: "Principal",
  description: "The user on whose behalf the server calls, as it names its users: 1 to 512 bytes of UTF-8.",
})

export const AttemptId = z
  .string()
  .regex(/^[\x21-\x7e]{16,128}$/, "must be 16 to 128 visible ASCII characters")
  .register(documented, {
    id: "AttemptId",
    description:
      "Random, one an attempt: only the process that made it and got no answer may send it again, and then act.",
  })

/** Any JSON: values come from `JSON.parse`, and a copy by zod would lose a member called `__proto__`. */
export function json(description: string) {
  return z.custom<Json>((value) => value !== undefined, "is required").register(documented, { description })
}

/** What an effect came to. A number of JSON beyond double precision's range would be kept as null. */
export function outcome(description: string) {
  return json(description).refine(isFiniteThroughout, "has a number beyond the range of double precision")
}

function isFiniteThroughout(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value)
  if (typeof value !== "object" || value === null) return true
  return Object.values(value).every(isFiniteThroughout)
}

const Arguments = z
  .custom<object>((value) => typeof value === "object" && value !== null && !Array.isArray(value), "must be an object")
  .register(documented, {
    type: "object",
    description: "Bound by the SHA-256 of its RFC 8785 form; at most 64 levels, no integers beyond 2^53.",
  })

const Digest = z
  .string()
  .regex(/^[A-Za-z0-9_-]{43}$/, "must be 32 bytes in base64url without padding")
  .transform((text, context) => {
    const digest = base64UrlToBytes(text)
    if (digest) return digest
    context.addIssue("must be 32 bytes in base64url without padding")
    return z.NEVER
  })
  .register(documented, { description: "SHA-256 of the RFC 8785 form of the arguments, base64url." })

export const McpRequest = z
  .strictObject({
    method: Text,
    target: Text,
    arguments: Arguments.exactOptional(),
    argumentsDigest: Digest.exactOptional(),
  })
  .refine((request) => request.arguments === undefined || request.argumentsDigest === undefined, {
    error: "must not stand beside arguments",
    path: ["argumentsDigest"],
  })
  .register(documented, {
    id: "Request",
    description:
      "The MCP request: its method, its tool, prompt or resource, and its arguments or their digest. Absent arguments are not empty ones.",
    examples: [{ method: "tools/call", target: "create_project", arguments: { name: "orders" } }],
  })

export function seconds(least: number, most: number, description: string) {
  return z.int().min(least).max(most).register(documented, { description })
}

export const Time = z
  .string()
  .register(documented, { id: "Time", format: "date-time", description: "RFC 3339 in UTC, with milliseconds." })

/** @param milliseconds since 1970 */
export function timeOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}

export const OperationIdText = z
  .string()
  .register(documented, { description: "The same in every round of the operation; not a secret." })
