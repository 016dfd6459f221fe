import type { Principal, TenantId } from "../../brands.ts"
import { errorName } from "../../error-name.ts"
import { objectName, within } from "../../ledger/index.ts"
import { log } from "../../observe.ts"
import type { Change, Wants } from "./change.ts"
import { type Changes, Full, type Listener } from "./object.ts"

export interface ChangesOptions {
  readonly namespace: DurableObjectNamespace<Changes>
  /** Where a tenant's bus must run. */
  readonly jurisdictions: ReadonlyMap<TenantId, DurableObjectJurisdiction>
  /** Answers when the server is about to stop; absent where nothing knows. */
  readonly stop?: Fetcher | undefined
}

/** Who wants to listen, and to what. */
export interface Listening {
  readonly tenant: TenantId
  readonly principal: Principal
  /** The name of its session, where it has one. */
  readonly session?: string
  readonly wants: Wants
}

/** Of a listener that joined the bus. */
export interface Joined {
  /** Changes will arrive on it. It is not yet accepted. */
  readonly socket: WebSocket
  /** Resolves when the server is about to stop. */
  readonly stop: Promise<unknown>
}

export type Connected =
  | ({ readonly ok: true } & Joined)
  | { readonly ok: false; readonly problem: Full | "unreachable" }

/** The change buses of all tenants, as the rest of the house sees them. No verb throws: the operator's log has what failed. */
export interface ChangesClient {
  /** Tells all who listen at this moment, and want to know. */
  publish(tenant: TenantId, change: Change): Promise<void>
  /** Begins to listen; as a session, in the place of its stream before. */
  connect(listening: Listening): Promise<Connected>
  /** Changes what the stream of a session is told of, or ends it; where it has none, there is nothing to do. */
  subscribe(tenant: TenantId, session: string, uris: readonly string[]): Promise<void>
  unsubscribe(tenant: TenantId, session: string, uri: string): Promise<void>
  dismiss(tenant: TenantId, session: string): Promise<void>
}

/** @example createChangesClient({ namespace: env.CHANGES, jurisdictions: new Map() }) */
export function createChangesClient({ namespace, jurisdictions, stop }: ChangesOptions): ChangesClient {
  async function busOf(tenant: TenantId): Promise<DurableObjectStub<Changes>> {
    return within(namespace, jurisdictions.get(tenant)).getByName(await objectName("changes", tenant))
  }

  async function connect(tenant: TenantId, listener: Listener): Promise<Connected> {
    // Sockets come with a fetch alone, and what goes with one must be in its address.
    const url = `https://changes/?${new URLSearchParams({ listener: JSON.stringify(listener) })}`
    const bus = await busOf(tenant)
    const response = await bus.fetch(url, { headers: { Upgrade: "websocket" } })
    const { webSocket: socket } = response
    return socket
      ? { ok: true, socket, stop: answerOf(stop) }
      : { ok: false, problem: Full.parse(await response.text()) }
  }

  async function tell(tenant: TenantId, verb: (bus: DurableObjectStub<Changes>) => Promise<void>): Promise<void> {
    try {
      await verb(await busOf(tenant))
    } catch (error) {
      log({ event: "fault", name: "changes", error: errorName(error) })
    }
  }

  return {
    publish: (tenant, change) => tell(tenant, (bus) => bus.publish(change)),
    subscribe: (tenant, session, uris) => tell(tenant, (bus) => bus.subscribe(session, uris)),
    unsubscribe: (tenant, session, uri) => tell(tenant, (bus) => bus.unsubscribe(session, uri)),
    dismiss: (tenant, session) => tell(tenant, (bus) => bus.dismiss(session)),
    async connect({ tenant, principal, ...listening }) {
      try {
        return await connect(tenant, { ...listening, principal: await objectName("listener", principal) })
      } catch (error) {
        log({ event: "fault", name: "listen", error: errorName(error) })
        return { ok: false, problem: "unreachable" }
      }
    },
  }
}

/** Never comes where there is nothing to ask, or the question is lost: no stream ends for that. */
function answerOf(stop: Fetcher | undefined): Promise<unknown> {
  return new Promise((resolve) => stop?.fetch("http://stop/").then(resolve, () => {}))
}
