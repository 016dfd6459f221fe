// Two replicas, and a proxy that gives each the next request in turn: no leg comes back to where the one before was.
import { fork } from "node:child_process"
import { once } from "node:events"
import { createServer, request } from "node:http"
import { join } from "node:path"
import { z } from "zod"

const Address = z.object({ port: z.number() })

async function startReplica(): Promise<number> {
  const replica = fork(join(import.meta.dirname, "replica.ts"))
  replica.once("exit", () => process.exit(1))
  process.once("exit", () => replica.kill())
  const [address] = await once(replica, "message")
  return Address.parse(address).port
}

const ports = await Promise.all([startReplica(), startReplica()])
let turn = 0

const proxy = createServer((incoming, outgoing) => {
  turn += 1
  const { method, url, headers } = incoming
  const target = { host: "127.0.0.1", port: ports[turn % ports.length], method, path: url, headers }
  const passed = request(target, (response) => {
    outgoing.writeHead(response.statusCode ?? 502, response.headers)
    response.pipe(outgoing)
  })
  passed.once("error", () => outgoing.destroy())
  incoming.pipe(passed)
})
proxy.listen(Number(process.env["PORT"] ?? 3_000), "127.0.0.1")
await once(proxy, "listening")
console.log(`http://127.0.0.1:${Address.parse(proxy.address()).port}/mcp`)
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(0))
