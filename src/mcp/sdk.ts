import { createMcpHandler, type McpServer } from "@modelcontextprotocol/server"
import { authInfo } from "./auth-info.ts"
import type { Exchange } from "./exchange.ts"
import { type Exchanges, singleExchange } from "./offer.ts"

/** Makes a server for a single exchange, as every request of 2026-07-28 is, or for those of a session. */
export type CreateServer = (exchanges: Exchanges) => McpServer

/** Lets the official SDK answer a request that passed the door, with a server of its own. */
export type Sdk = (request: Request, exchange: Exchange) => Promise<Response>

/** @param legacy how requests of revisions before 2026-07-28 are answered: one by one, or with the news that they are not */
export function createSdk(createServer: CreateServer, legacy: "stateless" | "reject"): Sdk {
  // The SDK hands its factory the request and nothing else of ours.
  const exchanges = new WeakMap<Request, Exchange>()
  const handler = createMcpHandler(
    ({ era, requestInfo }) => {
      const exchange = requestInfo && exchanges.get(requestInfo)
      if (!exchange) throw new Error("A request reached the MCP server without passing its door.")
      return createServer(singleExchange(exchange, era))
    },
    { legacy },
  )
  return (request, exchange) => {
    exchanges.set(request, exchange)
    return handler.fetch(request, { parsedBody: exchange.body, authInfo: authInfo(exchange) })
  }
}
