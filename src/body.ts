/** Deepest nesting of arrays and objects: arguments may go 64 deep, and lie in an envelope. */
const LIMIT_DEPTH = 96
/** Of all objects together. Making an object of names that it has not seen costs an engine a microsecond a member. */
const LIMIT_MEMBERS = 20_000
/** Values at every depth: one more than the commas and opening brackets. */
const LIMIT_VALUES = 200_000
/** A body must have arrived within this time. */
const LIMIT_MS = 10_000
/** So much of a body that is too large is still read, and thrown away: most clients read no answer while they write. */
const DISCARDED_BYTES = 8_388_608

export type Body =
  | { readonly kind: "json"; readonly value: unknown }
  | { readonly kind: "too_large" }
  | { readonly kind: "too_slow" }
  | { readonly kind: "too_deep" }
  /** Too many members or values. */
  | { readonly kind: "too_wide" }
  /** Not UTF-8, or not JSON. */
  | { readonly kind: "unreadable" }

/**
 * Reads a body of at most so many bytes as JSON. Size, time and shape are bounded before any of it is parsed, whatever its
 * headers say.
 */
export async function readBody(request: Request, limitBytes: number): Promise<Body> {
  const read = await readBytes(request, limitBytes)
  if (read.kind !== "bytes") return read
  const text = decode(read.bytes)
  if (text === undefined) return { kind: "unreadable" }
  const excess = excessOf(text)
  if (excess) return excess
  try {
    return { kind: "json", value: JSON.parse(text) }
  } catch {
    return { kind: "unreadable" }
  }
}

type Bytes =
  | { readonly kind: "bytes"; readonly bytes: ArrayBuffer }
  | Extract<Body, { kind: "too_large" | "too_slow" | "unreadable" }>

async function readBytes(request: Request, limitBytes: number): Promise<Bytes> {
  const timeUp = Promise.withResolvers<Bytes>()
  const timer = setTimeout(() => timeUp.resolve({ kind: "too_slow" }), LIMIT_MS)
  const read = declaredLength(request) <= limitBytes ? readAll(request) : readUpTo(request, limitBytes)
  const bytes = await Promise.race([read.catch(gone), timeUp.promise])
  clearTimeout(timer)
  return bytes
}

/** In bytes. It bounds the body: the platform delivers no byte beyond it (RFC 9112 6.2). Without one it is infinite. */
function declaredLength({ headers }: Request): number {
  const length = headers.get("Content-Length")
  return length === null ? Number.POSITIVE_INFINITY : Number(length)
}

/** The caller left in the middle of it, and reads no answer either. */
function gone(): Bytes {
  return { kind: "unreadable" }
}

async function readAll(request: Request): Promise<Bytes> {
  return { kind: "bytes", bytes: await request.arrayBuffer() }
}

async function readUpTo({ body }: Request, limit: number): Promise<Bytes> {
  if (body === null) return { kind: "bytes", bytes: new ArrayBuffer(0) }
  const reader = body.getReader()
  const chunks: Uint8Array[] = []
  let length = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done || length > limit + DISCARDED_BYTES) break
    length += value.byteLength
    if (length <= limit) chunks.push(value)
  }
  return length > limit ? { kind: "too_large" } : { kind: "bytes", bytes: await new Blob(chunks).arrayBuffer() }
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false })

function decode(bytes: ArrayBuffer): string | undefined {
  try {
    return strictUtf8.decode(bytes)
  } catch {
    return undefined
  }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPENING_BRACKET = 0x5b
const OPENING_BRACE = 0x7b
const CLOSING_BRACKET = 0x5d
const CLOSING_BRACE = 0x7d
const COLON = 0x3a
const COMMA = 0x2c

/** Counts punctuation outside strings. Of text that is no JSON it may say anything: the parser has its turn next. */
function excessOf(text: string): Extract<Body, { kind: "too_deep" | "too_wide" }> | undefined {
  let depth = 0
  let members = 0
  let values = 1
  let inString = false
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (inString) {
      if (code === BACKSLASH) at += 1
      else if (code === QUOTE) inString = false
    } else if (code === QUOTE) inString = true
    else if (code === OPENING_BRACKET || code === OPENING_BRACE) {
      depth += 1
      values += 1
    } else if (code === CLOSING_BRACKET || code === CLOSING_BRACE) depth -= 1
    else if (code === COLON) members += 1
    else if (code === COMMA) values += 1
    if (depth > LIMIT_DEPTH) return { kind: "too_deep" }
    if (members > LIMIT_MEMBERS || values > LIMIT_VALUES) return { kind: "too_wide" }
  }
  return undefined
}
