import { z } from "zod"
import { documented, Time } from "./common.ts"

const Key = z.strictObject({
  keyId: z.string(),
  suite: z.int(),
  state: z.enum(["upcoming", "sealing", "opening"]),
  sealsFrom: Time,
  sealsUntil: Time.exactOptional(),
  opensUntil: Time.exactOptional(),
})

export const KeysBody = z
  .strictObject({ keys: z.array(Key).register(documented, { description: "Oldest first." }) })
  .register(documented, {
    id: "KeysBody",
    examples: [{ keys: [{ keyId: "5f1c0a9b", suite: 1, state: "sealing", sealsFrom: "2026-11-01T00:00:00.000Z" }] }],
  })
