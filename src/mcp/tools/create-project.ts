import { requireScopes } from "@modelcontextprotocol/server"
import { z } from "zod"
import {
  type Caller,
  changed,
  denied,
  done,
  form,
  InvalidArguments,
  type Objection,
  operation,
  refused,
} from "../../operation/index.ts"
import { operationTool } from "../asking-tool.ts"
import { registryOf } from "../demo/registry.ts"
import { demoSettings } from "../demo/settings.ts"
import { announceCreated } from "../resources/created.ts"
import { DisplayName } from "./display-name.ts"

const SCOPE = "projects:create"

const Arguments = z.object({
  name: DisplayName.describe("Name of the project, unique in your organisation"),
  account: DisplayName.describe("Account that pays for it"),
})

const Approval = z.object({ approved: z.boolean().describe("Whether the project may be created at this cost") })

const Project = z.object({
  name: z.string(),
  account: z.string(),
  monthlyCostUsd: z.number(),
  createdAt: z.string(),
})

const createProject = operation(
  {
    name: "create_project",
    input: Arguments,
    policyVersion: () => demoSettings().policyVersion,
    rounds: 3,
    timeoutSeconds: 900,
    replay: "result",
    leaseSeconds: 20,
    onLeaseEnd: "rerun",
  },
  async (op, { name, account }) => {
    const cost = await op.pin("cost", z.number(), () => monthlyCost(account))
    const question = `Create the project "${name}" for $${cost} a month, paid by the account "${account}"?`
    const { approved } = await op.ask("approval", form(Approval, question))
    if (!approved) return op.decline("The person did not approve. Nothing was created.")
    const registry = registryOf(op.caller.tenant)
    return op.commit({
      recheck: [
        () => mayCreate(op.caller),
        () => stillCosts(account, cost),
        // An attempt that vanished may have spent it; then the write, which knows its key, is the one that can tell.
        async ({ again }) =>
          again || (await registry.covers(budgetOf(account), account, cost)) ? undefined : denied(OVER_BUDGET),
      ],
      effect: async ({ idempotencyKey }) => {
        const project = { name, account, monthlyCostUsd: cost }
        const written = await registry.createProject(idempotencyKey, project, budgetOf(account))
        switch (written.kind) {
          case "created":
            announceCreated(op.caller.tenant)
            return done({ project: { ...written.project } }, `The project "${name}" was created for $${cost} a month.`)
          case "name_taken":
            return refused(`A project named "${name}" exists already. Nothing was created.`, "Choose another name.")
          case "over_budget":
            return refused(OVER_BUDGET, "Propose something cheaper, or have the budget raised.")
        }
      },
    })
  },
)

export const createProjectTool = operationTool(createProject, {
  title: "Create a project",
  description: "Estimates what a project costs, asks the person to approve that cost, and creates it, once.",
  result: { project: Project.optional() },
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  scopeChallenge: requireScopes(SCOPE),
})

const OVER_BUDGET = "The account's budget does not cover it. Nothing was created."

function monthlyCost(account: string): number {
  const price = demoSettings().prices.get(account)
  if (price === undefined) throw new InvalidArguments("Nothing has a price in this account; name another account.")
  return price
}

function budgetOf(account: string): number {
  return demoSettings().budgets.get(account) ?? 0
}

function mayCreate({ scopes }: Caller): Objection | undefined {
  return scopes.has(SCOPE) ? undefined : denied(`The scope ${SCOPE} is not given any more. Nothing was created.`)
}

function stillCosts(account: string, approved: number): Objection | undefined {
  if (demoSettings().prices.get(account) === approved) return undefined
  return changed("The cost is not what was approved any more. Nothing was created.")
}
