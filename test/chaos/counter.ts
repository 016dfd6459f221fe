/* A process of its own that runs effects and counts them: what it has counted survives every crash of the Worker. */
import { randomUUID } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { json } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { z } from "zod"

const Effect = z.object({
  label: z.string(),
  /** How the first request of an operation fares; one that is fickle, the first few. */
  temper: z.enum(["steady", "reluctant", "rude", "slow", "fickle"]),
  policy: z.enum(["report", "rerun"]),
  key: z.string(),
})

type Effect = z.infer<typeof Effect>

/** Longer than the effect's lease. */
const TOO_LONG_MS = 1_300
/** Of one that is fickle: mostly it does nothing, and says so. */
const MOODS = ["reluctant", "reluctant", "reluctant", "steady", "rude"] as const
const FICKLE_TIMES = 4

/** How often, by label. */
const arrived = new Map<string, number>()
const receipts: { readonly label: string; readonly key: string; readonly receipt: string }[] = []

const server = createServer((request, response) => {
  if (request.method === "GET") response.end(JSON.stringify(receipts))
  else void run(request, response)
})

async function run(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const effect = Effect.parse(await json(request))
  const temper = temperOf(effect)
  await sleep(Math.random() * 30)
  if (temper === "reluctant") return void response.writeHead(503).end()
  const receipt = count(effect)
  if (temper === "rude") return void request.socket.destroy()
  await sleep(temper === "slow" ? TOO_LONG_MS : Math.random() * 30)
  response.end(JSON.stringify({ receipt }))
}

function temperOf({ label, temper }: Effect): Effect["temper"] {
  const before = arrived.get(label) ?? 0
  arrived.set(label, before + 1)
  if (before >= (temper === "fickle" ? FICKLE_TIMES : 1)) return "steady"
  return temper === "fickle" ? (MOODS[Math.floor(Math.random() * MOODS.length)] ?? "steady") : temper
}

/** Effects that may run again honour their key, as the policy asks of them; of the others each run is one more. */
function count({ label, policy, key }: Effect): string {
  const known = policy === "rerun" && receipts.find((one) => one.key === key)
  if (known) return known.receipt
  const receipt = randomUUID()
  receipts.push({ label, key, receipt })
  return receipt
}

process.on("disconnect", () => process.exit())
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  process.send?.(address && typeof address === "object" ? address.port : undefined)
})
