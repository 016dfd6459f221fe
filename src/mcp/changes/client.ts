import type { Principal, TenantId } from "../../brands.ts"
import { errorName } from "../../error-name.ts"
import { objectName } from "../../ledger/index.ts"
import { log } from "../../observe.ts"
import type { Change, Wants } from "./change.ts"
import { type Changes, Full, type Listener } from "./object.ts"

export interface ChangesOptions {
  readonly namespace: DurableObjectNamespace<Changes>
  /** Where a tenant's bus must run. */
  readonly jurisdictions: ReadonlyMap<TenantId, DurableObjectJurisdiction>
}

export type Connected =
  /** Changes will arrive on this socket, which is not yet accepted. */
  { readonly ok: true; readonly socket: WebSocket } | { readonly ok: false; readonly problem: Full | "unreachable" }

/** The change buses of all tenants, as the rest of the house sees them. No verb throws: the operator's log has what failed. */
export interface ChangesClient {
  /** Tells all who listen at this moment, and want to know. */
  publish(tenant: TenantId, change: Change): Promise<void>
  /** Begins to listen. */
  connect(tenant: TenantId, principal: Principal, wants: Wants): Promise<Connected>
}

/** @example createChangesClient({ namespace: env.CHANGES, jurisdictions: new Map() }) */
export function createChangesClient({ namespace, jurisdictions }: ChangesOptions): ChangesClient {
  async function busOf(tenant: TenantId): Promise<DurableObjectStub<Changes>> {
    const jurisdiction = jurisdictions.get(tenant)
    const there = jurisdiction === undefined ? namespace : namespace.jurisdiction(jurisdiction)
    return there.getByName(await objectName("changes", tenant))
  }

  async function connect(tenant: TenantId, listener: Listener): Promise<Connected> {
    // Sockets come with a fetch alone, and what goes with one must be in its address.
    const url = `https://changes/?${new URLSearchParams({ listener: JSON.stringify(listener) })}`
    const bus = await busOf(tenant)
    const { webSocket, statusText } = await bus.fetch(url, { headers: { Upgrade: "websocket" } })
    return webSocket ? { ok: true, socket: webSocket } : { ok: false, problem: Full.parse(statusText) }
  }

  return {
    async publish(tenant, change) {
      try {
        await (await busOf(tenant)).publish(change)
      } catch (error) {
        log({ event: "fault", name: "announce", error: errorName(error) })
      }
    },
    async connect(tenant, principal, wants) {
      try {
        return await connect(tenant, { principal: await objectName("listener", principal), wants })
      } catch (error) {
        log({ event: "fault", name: "listen", error: errorName(error) })
        return { ok: false, problem: "unreachable" }
      }
    },
  }
}
