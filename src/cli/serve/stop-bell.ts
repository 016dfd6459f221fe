import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

/** Tells the Worker that it is about to be stopped: the runtime itself tells it nothing, and waits for its streams. */
export interface StopBell {
  /** Where it is asked for, `host:port`. A request is answered, with nothing, when the bell has rung. */
  readonly address: string
  ring(): void
}

/** On this machine alone. Whoever else asks there hears no more than that the server stops. */
export async function hangStopBell(): Promise<StopBell> {
  const rung = Promise.withResolvers<void>()
  const server = createServer((_request, response) => void rung.promise.then(() => response.end()))
  server.listen(0, "127.0.0.1").unref()
  await once(server, "listening")
  return { address: addressOf(server.address()), ring: rung.resolve }
}

function addressOf(address: AddressInfo | string | null): string {
  if (address === null || typeof address === "string") throw new TypeError("The bell does not hang at a port.")
  return `${address.address}:${address.port}`
}
