declare namespace Cloudflare {
  /** The bindings of wrangler.toml; settings and secrets are read by settings.ts alone, which trusts none of them. */
  interface Env {
    readonly LEDGER: DurableObjectNamespace<import("./ledger/index.ts").Ledger>
    readonly REGISTRY: DurableObjectNamespace<import("./mcp/demo/registry.ts").Registry>
    readonly SESSIONS: DurableObjectNamespace<Rpc.DurableObjectBranded & import("./mcp/session/index.ts").SessionStub>
    readonly SESSION_LISTS: DurableObjectNamespace<import("./mcp/session/index.ts").SessionList>
    /** Optional: without it nothing is announced. */
    readonly CHANGES?: DurableObjectNamespace<import("./mcp/changes/index.ts").Changes>
    /** Optional: without them nobody is limited. */
    readonly MCP_RATE_LIMIT?: RateLimit
    readonly API_RATE_LIMIT?: RateLimit
    /** Optional: without it events are log lines alone. */
    readonly METRICS?: AnalyticsEngineDataset
  }
}
