/** Largest request body, in bytes: 1 MiB. */
export const BODY_LIMIT_BYTES = 1_048_576

export type Body =
  | { readonly kind: "json"; readonly value: unknown }
  | { readonly kind: "too_large" }
  /** Not UTF-8, or not JSON. */
  | { readonly kind: "unreadable" }

/** Reads a body as JSON, and stops reading at the limit, whatever its headers say of its length. */
export async function readBody(request: Request): Promise<Body> {
  const chunks = await readUpTo(request, BODY_LIMIT_BYTES)
  if (chunks === undefined) return { kind: "too_large" }
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(
      await new Blob(chunks).arrayBuffer(),
    )
    return { kind: "json", value: JSON.parse(text) }
  } catch {
    return { kind: "unreadable" }
  }
}

async function readUpTo(request: Request, limit: number): Promise<Uint8Array[] | undefined> {
  if (Number(request.headers.get("content-length")) > limit) return undefined
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of request.body ?? []) {
    length += chunk.byteLength
    if (length > limit) return undefined
    chunks.push(chunk)
  }
  return chunks
}
