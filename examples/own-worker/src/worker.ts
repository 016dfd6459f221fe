import { createWorker, done, form, mcpResource, operation, operationTool, serverOf } from "waxseal"
import { z } from "zod"

export { Ledger } from "waxseal"

const sendInvitation = operation(
  {
    name: "send_invitation",
    input: z.object({ email: z.email() }),
    rounds: 3,
    timeoutSeconds: 600,
    replay: "result",
    leaseSeconds: 10,
    onLeaseEnd: "report",
  },
  async (op, { email }) => {
    const { approved } = await op.ask("approval", form(z.object({ approved: z.boolean() }), `Invite ${email}?`))
    if (!approved) return op.decline("Nobody was invited.")
    return op.commit({
      effect: async ({ idempotencyKey }) => {
        console.log(JSON.stringify({ event: "invited", operation: idempotencyKey }))
        return done({ invited: email }, `${email} was invited.`)
      },
    })
  },
)

const invite = operationTool(sendInvitation, {
  title: "Send an invitation",
  description: "Invites somebody, once, after a person has approved it.",
  result: { invited: z.string().optional() },
})

export default createWorker([mcpResource(serverOf({ name: "invitations", version: "1.0.0" }, [invite]))])
