import { mkdtemp, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { type Bundle, buildBundle, type Recipe } from "../../support/bundle.ts"
import { makeIdentity, type TokenOptions } from "../../support/identity.ts"
import { type LegacyClient, type Message, openSession, type Stream } from "../../support/legacy.ts"
import { type Running, startWorker } from "../../support/workerd.ts"

export const SESSIONS: Recipe = {
  config: "test/fixtures/sessions/wrangler.toml",
  sources: ["src", "test/fixtures/sessions"],
}

type Who = Partial<TokenOptions>

/** A Worker with sessions, its storage, and tokens for it. */
export interface Stage {
  readonly worker: Running
  readonly url: string
  token(who?: Who): Promise<string>
  /** A session of its own, of alice unless somebody else is named. */
  open(who?: Who, options?: Parameters<typeof openSession>[2]): Promise<LegacyClient>
  /** What `list_created` says. */
  created(): Promise<string>
  /** Kills the runtime and starts it on what is left. */
  crash(): Promise<void>
  /** The objects of a class that were ever touched, by file. */
  objects(className: string): Promise<readonly string[]>
  /** The tables of an object's storage. */
  tables(className: string, file: string): readonly string[]
  /** How many alarms are set in a class. */
  alarms(className: string): Promise<number>
  end(): Promise<void>
}

export async function startStage(bindings: Record<string, string> = {}, bundle?: Bundle): Promise<Stage> {
  const identity = await makeIdentity()
  const storage = await mkdtemp(join(tmpdir(), "waxseal-"))
  const options = {
    bundle: bundle ?? (await buildBundle(SESSIONS)),
    bindings: { ...identity.bindings, PRICES: '{"acme":40}', BUDGETS: '{"acme":100}', ...bindings },
    storage,
  }
  let worker = await startWorker(options)
  const { port } = worker
  const url = `${worker.url}/mcp`
  const token = (who: Who = {}) => identity.token({ principal: "alice", audience: url, ...who })
  const files = (className: string): Promise<string[]> => readdir(join(storage, className)).catch(() => [])
  const open = async (who: Who = {}, more: Parameters<typeof openSession>[2] = {}) =>
    openSession(who.audience ?? url, await token(who), more)
  return {
    get worker() {
      return worker
    },
    url,
    token,
    open,
    async created() {
      const client = await open()
      return JSON.stringify(await resultOf(await client.call("tools/call", { name: "list_created", arguments: {} })))
    },
    async crash() {
      await worker.kill()
      worker = await startWorker({ ...options, port })
    },
    objects: async (className) =>
      (await files(className)).filter((file) => file.endsWith(".sqlite") && file !== "metadata.sqlite"),
    tables(className, file) {
      using database = new DatabaseSync(join(storage, className, file))
      return database
        .prepare("SELECT name FROM sqlite_master")
        .all()
        .map(({ name }) => String(name))
    },
    async alarms(className) {
      if (!(await files(className)).includes("metadata.sqlite")) return 0
      using database = new DatabaseSync(join(storage, className, "metadata.sqlite"))
      return Number(database.prepare("SELECT count(*) AS alarms FROM _cf_ALARM").get()?.["alarms"])
    },
    async end() {
      await worker.stop()
      await rm(storage, { recursive: true, force: true })
    },
  }
}

/** The question that a call puts on its stream. */
export async function questionOf(stream: Stream): Promise<Message> {
  const message = await stream.next()
  if (message.method !== "elicitation/create") throw new Error(`No question came, but ${JSON.stringify(message)}`)
  return message
}

/** The result of a call that asks nothing more. */
export async function resultOf(stream: Stream): Promise<Record<string, unknown>> {
  const { result, error } = await stream.next()
  if (!result) throw new Error(`No result came, but ${JSON.stringify(error)}`)
  return result
}

export function provision(client: LegacyClient, name: string): Promise<Stream> {
  return client.call("tools/call", { name: "provision_database", arguments: { name } })
}

/** What a client answers to the question of a region. */
export function inRegion(question: Message, region = "eu-west-1"): object {
  return { id: question.id, result: { action: "accept", content: { region } } }
}
