import { errorName } from "../error-name.ts"
import { type Caller, DefinitionError, type RuntimeParts } from "../operation/index.ts"
import type { Offer } from "./offer.ts"

/** Tells the operator of a fault outside the legs of an operation: its name, and an author's mistake in full. */
export function observeFault(
  { observe, pseudonyms }: RuntimeParts,
  { tenant, principal }: Pick<Caller, "tenant" | "principal">,
  method: Offer["method"],
  target: string,
  error: unknown,
): void {
  observe({
    event: "fault",
    error: errorName(error),
    ...(error instanceof DefinitionError && { problem: error.message }),
    name: target,
    person: pseudonyms("person", tenant, principal),
    arguments: pseudonyms("arguments", method, target, undefined),
  })
}
