import { z } from "zod"

/** A name that people read in a question: 1..128 characters, none of them invisible, a line's end or a quotation mark. */
export const DisplayName = z
  .string()
  .min(1)
  .max(128)
  .regex(
    /^[^\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}"]+$/u,
    "must not contain invisible characters or quotation marks",
  )
