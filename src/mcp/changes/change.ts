import { z } from "zod"

/** Resources that one listener may name. */
const MOST_URIS = 64
/** Of all of them together, in UTF-8: the platform keeps what a listener wants beside its socket, in 16 KiB. */
const MOST_URI_BYTES = 4_096

/** Something that a client may have read is not what it was. */
export const Change = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("tools_list_changed") }),
  z.object({ kind: z.literal("prompts_list_changed") }),
  z.object({ kind: z.literal("resources_list_changed") }),
  z.object({ kind: z.literal("resource_updated"), uri: z.string() }),
])
export type Change = z.infer<typeof Change>

/** RFC 3986 has no place for white space, quotes, backslashes or what cannot be seen; JSON writes the rest as it is. */
const Uri = z.string().regex(/^[^\p{C}\s"\\]+$/u, "is no URI")

/** What one listener wants to be told of (basic/patterns/subscriptions: Notification Filter). */
export const Wants = z.object({
  toolsListChanged: z.boolean().exactOptional(),
  promptsListChanged: z.boolean().exactOptional(),
  resourcesListChanged: z.boolean().exactOptional(),
  resourceSubscriptions: z
    .array(Uri)
    .max(MOST_URIS, `names more than ${MOST_URIS} resources; listen to fewer`)
    .refine((uris) => bytesOf(uris) <= MOST_URI_BYTES, `is longer than ${MOST_URI_BYTES} bytes; listen to fewer`)
    .exactOptional(),
})
export type Wants = z.infer<typeof Wants>

/** Whether one listener may name all these resources. */
export function mayName(uris: readonly string[]): boolean {
  return Wants.shape.resourceSubscriptions.safeParse(uris).success
}

/** Whether a listener that wants this is told of that. */
export function isWanted(change: Change, wants: Wants): boolean {
  switch (change.kind) {
    case "tools_list_changed":
      return wants.toolsListChanged === true
    case "prompts_list_changed":
      return wants.promptsListChanged === true
    case "resources_list_changed":
      return wants.resourcesListChanged === true
    case "resource_updated":
      return wants.resourceSubscriptions?.includes(change.uri) === true
  }
}

function bytesOf(uris: readonly string[]): number {
  return new TextEncoder().encode(uris.join("")).byteLength
}
