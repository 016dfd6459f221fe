import type { TenantId } from "../../brands.ts"
import { announce } from "../changes/index.ts"
import { registryOf } from "../demo/registry.ts"
import { plainOffer } from "../offer.ts"

const URI = "waxseal://created"

const CONFIG = {
  title: "What was created",
  description: "The databases and projects of your organisation.",
  mimeType: "application/json",
}

/** `waxseal://created`: the same list as the tool `list_created`, for clients that read. */
export const createdResource = plainOffer("resources/read", URI, (server, guard) => {
  server.registerResource("created", URI, CONFIG, (_uri, context) =>
    guard(context, async ({ identity }) => {
      const created = await registryOf(identity.tenant).created()
      return { contents: [{ uri: URI, mimeType: CONFIG.mimeType, text: JSON.stringify(created) }] }
    }),
  )
})

/** Tells whoever subscribed that the list is longer now. */
export function announceCreated(tenant: TenantId): void {
  announce(tenant).resourceUpdated(URI)
}
