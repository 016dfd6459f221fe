import type { McpServer } from "@modelcontextprotocol/server"
import { jurisdictionsOf } from "./auth/index.ts"
import type { TenantId } from "./brands.ts"
import { within } from "./ledger/index.ts"
import type { Exchanges } from "./mcp/offer.ts"
import type { CreateServer } from "./mcp/sdk.ts"
import { SessionObject, type SessionStub } from "./mcp/session/index.ts"
import type { RuntimeParts } from "./operation/index.ts"
import type { Home } from "./seal/index.ts"
import { type Bindings, servicesOf } from "./services.ts"
import { type Settings, settingsOf } from "./settings.ts"

/** A class of Durable Objects that a Worker exports. */
export type SessionClass = new (state: DurableObjectState, env: Bindings) => Rpc.DurableObjectBranded & SessionStub

/**
 * The class of the objects behind sessions of 2025-era clients, for the same servers as the endpoint's. Export it, bind
 * it as `SESSIONS`, and beside it `SessionList` as `SESSION_LISTS`.
 *
 * @example
 * const createServer = serverOf({ name: "my-server", version: "1.0.0" }, [myTool])
 * export { Ledger, SessionList } from "waxseal"
 * export const Session = sessionOf(createServer)
 * export default createWorker([mcpResource(createServer)])
 */
export function sessionOf(createServer: CreateServer): SessionClass {
  return class Session extends SessionObject<Bindings> {
    protected override createServer(exchanges: Exchanges): McpServer {
      return createServer(exchanges)
    }

    protected override partsAt(home: Home): RuntimeParts {
      return servicesOf(this.#settings(), this.env).mcpParts(() => home, this.ctx)
    }

    protected override listOf(tenant: TenantId, name: string) {
      const { SESSION_LISTS: lists } = this.env
      if (!lists) throw new Error("The Worker has sessions and no list of them; bind SESSION_LISTS.")
      return within(lists, jurisdictionsOf(this.#settings()).get(tenant)).getByName(name)
    }

    #settings(): Settings {
      const result = settingsOf(this.env)
      if (!result.ok) throw new Error("The Worker is not configured, and its door let a request pass.")
      return result.settings
    }
  }
}
