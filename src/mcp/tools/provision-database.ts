import { z } from "zod"
import { done, form, operation, refused } from "../../operation/index.ts"
import { operationTool } from "../asking-tool.ts"
import { registryOf } from "../demo/registry.ts"
import { announceCreated } from "../resources/created.ts"
import { DisplayName } from "./display-name.ts"

const Arguments = z.object({ name: DisplayName.describe("Name of the database, unique in your organisation") })

const Region = z.object({
  region: z.enum(["eu-west-1", "us-east-1", "ap-southeast-1"]).describe("Where the data will be kept"),
})

const Database = z.object({ name: z.string(), region: z.string(), createdAt: z.string() })

const provisionDatabase = operation(
  {
    name: "provision_database",
    input: Arguments,
    rounds: 3,
    timeoutSeconds: 900,
    replay: "result",
    leaseSeconds: 20,
    onLeaseEnd: "rerun",
  },
  async (op, { name }) => {
    const { region } = await op.ask("region", form(Region, `In which region shall the database "${name}" be created?`))
    return op.commit({
      effect: async ({ idempotencyKey }) => {
        const database = await registryOf(op.caller.tenant).createDatabase(idempotencyKey, name, region)
        if (!database)
          return refused(`A database named "${name}" exists already. Nothing was created.`, "Choose another name.")
        announceCreated(op.caller.tenant)
        return done({ database: { ...database } }, `The database "${name}" was created in ${database.region}.`)
      },
    })
  },
)

export const provisionDatabaseTool = operationTool(provisionDatabase, {
  title: "Provision a database",
  description: "Creates a database, once, in the region that the person chooses when asked.",
  result: { database: Database.optional() },
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
})
