import type { TenantId } from "../brands.ts"
import type { Jurisdiction, Settings } from "../settings.ts"
import { tenantNamed } from "./identity.ts"

/** Where tenants' objects must stay, by tenant. */
export function jurisdictionsOf({ auth, jurisdictions }: Settings): ReadonlyMap<TenantId, Jurisdiction> {
  const tenantClaim = auth.mode === "jwt" ? auth.tenantClaim : undefined
  return new Map([...jurisdictions].map(([name, jurisdiction]) => [tenantNamed(name, tenantClaim), jurisdiction]))
}
