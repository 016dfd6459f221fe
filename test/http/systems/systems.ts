import type { Called } from "./speakers.ts"
import type { World } from "./world.ts"

/** One of the product's tools, prompts or resources that ask, and how a test calls, answers and counts it. */
export interface System {
  readonly title: string
  /** A call that was not made before; makes what it needs to work. */
  fresh(world: World): Promise<Called>
  /** The same system called for something else. */
  otherwise(called: Called, world: World): Promise<Called>
  /** The key of its question. */
  readonly key: string
  /** What a person may say to it. */
  readonly good: Readonly<Record<string, string | boolean>>
  /** What must not be taken for that. */
  readonly bad: readonly unknown[]
  /** What an exact repeat is told. */
  readonly repeated: "completed" | "already_used"
  /** How often the call took effect, counted where that happens. */
  effects(called: Called, world: World): Promise<number>
}

let calls = 0

/** A word that no other test has used, and that is no part of another such word. */
function freshWord(): string {
  calls += 1
  return `word-${calls}-end`
}

const REGION = "eu-west-1"

const databases: System = {
  title: "provision_database",
  fresh: async () => tool("provision_database", { name: freshWord() }),
  otherwise: async () => tool("provision_database", { name: freshWord() }),
  key: "region",
  good: { region: REGION },
  bad: [{}, { region: "mars" }, { region: 7 }, { region: { region: REGION } }, { Region: REGION }],
  repeated: "completed",
  effects: async ({ arguments: sent }, world) =>
    (await world.created()).databases.filter((name) => name === sent?.["name"]).length,
}

const projects: System = {
  title: "create_project",
  fresh: async () => tool("create_project", { name: freshWord(), account: "team" }),
  otherwise: async (called) => tool("create_project", { ...called.arguments, name: freshWord() }),
  key: "approval",
  good: { approved: true },
  bad: [{}, { approved: "true" }, { approved: 1 }, { approved: null }, { approved: { approved: true } }],
  repeated: "completed",
  effects: async ({ arguments: sent }, world) =>
    (await world.created()).projects.filter((name) => name === sent?.["name"]).length,
}

const summaries: System = {
  title: "summarize_document",
  fresh: async () => tool("summarize_document", { document: freshWord() }),
  otherwise: async () => tool("summarize_document", { document: freshWord() }),
  key: "preferences",
  good: { processing_mode: "fast", language: "English", output_type: "one line" },
  bad: [
    {},
    { processing_mode: "fast", language: "English" },
    { processing_mode: "Fast", language: "English", output_type: "one line" },
    { processing_mode: "fast", language: ["English"], output_type: "one line" },
    { processing_mode: "fast", language: "", output_type: "one line" },
  ],
  repeated: "completed",
  effects: async ({ arguments: sent }, world) => world.model.timesAsked(sent?.["document"] ?? ""),
}

const connections: System = {
  title: "waxseal://databases/{name}/connection",
  fresh: connectionOfNewDatabase,
  otherwise: (_called, world) => connectionOfNewDatabase(world),
  key: "consent",
  good: { reveal: true },
  bad: [{}, { reveal: "true" }, { reveal: 1 }, { reveal: null }, { reveal: [true] }],
  repeated: "already_used",
  effects: async ({ target }, world) => world.timesShown(`${REGION}.db.example/${target.split("/")[3]}`),
}

/** Without effects: counted is how often the prompt was given, which does no harm twice. */
export const INCIDENTS: System = {
  title: "incident_report",
  fresh: async () => ({ method: "prompts/get", target: "incident_report", arguments: { incident: freshWord() } }),
  otherwise: async (called) => ({ ...called, arguments: { incident: freshWord() } }),
  key: "frame",
  good: { severity: "high", audience: "customers" },
  bad: [
    {},
    { severity: "high" },
    { severity: "High", audience: "customers" },
    { severity: "high", audience: ["customers"] },
    { severity: 3, audience: "customers" },
  ],
  repeated: "completed",
  effects: async ({ arguments: sent }, world) => world.timesShown(sent?.["incident"] ?? ""),
}

/** What changes something, or shows a secret. */
export const OPERATIONS = [databases, projects, summaries, connections]

export const SYSTEMS = [...OPERATIONS, INCIDENTS]

function tool(target: string, sent: Readonly<Record<string, string>>): Called {
  return { method: "tools/call", target, arguments: sent }
}

async function connectionOfNewDatabase(world: World): Promise<Called> {
  const provision = await databases.fresh(world)
  const asked = await world.raw(provision)
  if (asked.kind !== "asked") throw new Error("A database was not asked about.")
  await world.raw({ ...provision, state: asked.state, answers: accepting(databases) })
  return { method: "resources/read", target: `waxseal://databases/${provision.arguments?.["name"]}/connection` }
}

export function accepting({ key, good }: Pick<System, "key" | "good">, content: unknown = good) {
  return { [key]: { action: "accept", content } }
}

export function refusing({ key }: System, action: "decline" | "cancel") {
  return { [key]: { action } }
}
