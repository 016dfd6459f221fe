/* A process of its own that makes load: it takes one job at a time from its parent and ends with it. */
import { Agent, request } from "node:http"
import { text } from "node:stream/consumers"
import { Job, type Outcome } from "./job.ts"
import { scenarios } from "./scenarios.ts"
import type { Reply } from "./target.ts"

process.on("disconnect", () => process.exit())
process.on("message", async (message) => {
  try {
    process.send?.(await run(Job.parse(message)))
  } catch (error) {
    process.send?.({ problem: error instanceof Error ? error.message : "unknown" })
  }
})

async function run(job: Job): Promise<Outcome> {
  const agent = new Agent({ keepAlive: true, maxSockets: job.connections })
  const operation = scenarios[job.scenario]
  const target = {
    token: job.token,
    call: job.call,
    send: (path: string, headers: Readonly<Record<string, string>>, body: string) =>
      post(agent, new URL(path, job.url), headers, body),
  }
  const start = performance.now()
  const end = start + job.seconds * 1_000
  let operations = 0
  const work = async () => {
    while (performance.now() < end) {
      await operation(target)
      operations++
    }
  }
  try {
    await Promise.all(Array.from({ length: job.connections }, work))
    return { operations, seconds: (performance.now() - start) / 1_000 }
  } finally {
    agent.destroy()
  }
}

function post(agent: Agent, url: URL, headers: Readonly<Record<string, string>>, body: string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent, method: "POST", headers }, (incoming) => {
      text(incoming).then((received) => resolve({ status: incoming.statusCode ?? 0, body: received }), reject)
    })
    outgoing.on("error", reject)
    outgoing.end(body)
  })
}
