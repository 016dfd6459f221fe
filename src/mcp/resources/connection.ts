import { z } from "zod"
import { done, form, operation, refused } from "../../operation/index.ts"
import { bytesToBase64Url } from "../../seal/index.ts"
import { operationResource } from "../asking-resource.ts"
import { registryOf } from "../demo/registry.ts"
import { DisplayName } from "../tools/display-name.ts"

const Variables = z.object({ name: DisplayName })

const Consent = z.object({ reveal: z.boolean().describe("Whether the credentials may be shown here") })

const PASSWORD_BYTES = 24

const revealConnection = operation(
  {
    name: "database_connection",
    input: Variables,
    rounds: 3,
    timeoutSeconds: 300,
    replay: "reject",
    leaseSeconds: 10,
    onLeaseEnd: "report",
  },
  async (op, { name }) => {
    const question = `Show credentials of the database "${name}" to this client?`
    const { reveal } = await op.ask("consent", form(Consent, question))
    if (!reveal) return op.decline("The person did not agree. Nothing was shown.")
    return op.commit({
      effect: async () => {
        const { databases } = await registryOf(op.caller.tenant).created()
        const database = databases.find((one) => one.name === name)
        if (!database)
          return refused(`There is no database named "${name}".`, "Read waxseal://created for those that exist.")
        return done({ connection: connection(name, database.region) }, "Shown once.", "outcome only")
      },
    })
  },
)

export const connectionResource = operationResource(
  revealConnection,
  "waxseal://databases/{name}/connection",
  {
    title: "Connection of a database",
    description: "Credentials of a database, made and shown once after the person agreed, and kept nowhere.",
    mimeType: "text/plain",
  },
  ({ connection: revealed }) => String(revealed),
)

/** Stands for a call that makes credentials: fresh ones every time. */
function connection(name: string, region: string): string {
  const password = bytesToBase64Url(crypto.getRandomValues(new Uint8Array(PASSWORD_BYTES)))
  return `postgres://waxseal:${password}@${region}.db.example/${encodeURIComponent(name)}`
}
