import { once } from "node:events"
import { createServer, type ServerResponse } from "node:http"
import { json } from "node:stream/consumers"
import { z } from "zod"

const Reached = z.object({ step: z.string(), name: z.string() })
const Happened = z.object({ label: z.string(), key: z.string() })

/** What is outside the Worker and survives its crashes: where steps are stopped and effects are counted. */
export interface Outside {
  readonly url: string
  /** Stops the step of that name, for ever; resolves when it is reached. */
  stop(step: string, name: string): Promise<void>
  /** Crashes the ledger's object at that step, once, and nothing else. */
  crash(step: string, name: string): void
  /** The steps that were reached by that name, in order. */
  steps(name: string): readonly string[]
  /** How often the effect was run, and how often for another key: an effect that honours its key happens so often. */
  effects(label: string): { readonly runs: number; readonly happened: number }
  end(): void
}

export async function startOutside(): Promise<Outside> {
  const reached: z.infer<typeof Reached>[] = []
  const happened: z.infer<typeof Happened>[] = []
  const stops = new Map<string, () => void>()
  const crashes = new Set<string>()
  const reach = (body: unknown, response: ServerResponse) => {
    const { step, name } = Reached.parse(body)
    reached.push({ step, name })
    const stop = stops.get(`${step} ${name}`)
    if (stop) stop()
    else response.end(JSON.stringify({ crash: crashes.delete(`${step} ${name}`) }))
  }
  const server = createServer(async (request, response) => {
    const body = await json(request)
    if (request.url === "/reach") return reach(body, response)
    happened.push(Happened.parse(body))
    response.end("{}")
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = z.object({ port: z.number() }).parse(server.address())
  return {
    url: `http://127.0.0.1:${port}`,
    stop: (step, name) =>
      new Promise((resolve) => {
        const key = `${step} ${name}`
        stops.set(key, () => {
          // Once only: after the crash the same step goes on.
          stops.delete(key)
          resolve()
        })
      }),
    crash(step, name) {
      crashes.add(`${step} ${name}`)
    },
    steps: (name) => reached.filter((one) => one.name === name).map(({ step }) => step),
    effects(label) {
      const runs = happened.filter((one) => one.label === label)
      return { runs: runs.length, happened: new Set(runs.map(({ key }) => key)).size }
    },
    end() {
      server.closeAllConnections()
      server.close()
    },
  }
}
