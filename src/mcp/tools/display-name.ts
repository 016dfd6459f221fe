import { z } from "zod"

/** A name that people read: 1..128 characters, none of them invisible. */
export const DisplayName = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[^\p{C}]+$/u, "must not contain control characters")
