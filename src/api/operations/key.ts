import type { Principal } from "../../brands.ts"
import type { OperationKey } from "../../ledger/index.ts"
import type { Call } from "../call.ts"

/** The record of this caller's key, and of the user for whom it acts where it names one. */
export function keyOf({ identity }: Call, key: string, principal: Principal | undefined): OperationKey {
  return { tenant: identity.tenant, caller: identity.principal, principal, key }
}
