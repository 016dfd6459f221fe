import { z } from "zod"
import { documented, reference } from "./common.ts"
import { openMembers, redeemMembers, SEAL_EXAMPLE, SEALED_EXAMPLE, sealMembers } from "./state.ts"

/** Documents an entry: which call it is, and the body that the call has by itself, whose own schema judges it. */
z.discriminatedUnion("op", [
  z.strictObject({ op: z.literal("seal"), ...sealMembers }),
  z.strictObject({ op: z.literal("open"), ...openMembers }),
  z.strictObject({ op: z.literal("redeem"), ...redeemMembers }),
]).register(documented, { id: "BatchEntry" })

/** Entries are judged one by one: a bad one is answered in its place, and the others go on. */
export const BatchBody = z
  .strictObject({
    requests: z
      .array(z.unknown().register(documented, reference("BatchEntry")))
      .min(1)
      .max(100),
  })
  .register(documented, {
    id: "BatchBody",
    examples: [{ requests: [{ op: "seal", ...SEAL_EXAMPLE }] }],
  })

const BatchAnswer = z.strictObject({
  status: z
    .int()
    .min(200)
    .max(599)
    .register(documented, { description: "As the call by itself would have been answered." }),
  body: z.unknown().register(documented, {
    anyOf: ["SealedBody", "OpenedBody", "RedeemedBody", "Problem"].map(reference),
  }),
})

export const BatchAnswers = z
  .strictObject({
    responses: z.array(BatchAnswer).register(documented, { description: "In the order of the requests." }),
  })
  .register(documented, {
    id: "BatchAnswers",
    examples: [{ responses: [{ status: 200, body: SEALED_EXAMPLE }] }],
  })
