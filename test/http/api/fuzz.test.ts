import fc from "fast-check"
import { afterAll, beforeAll, expect, it } from "vitest"
import { ALL_SCOPES, type Api, startApi } from "../../support/api.ts"
import {
  createJudge,
  fetchDocument,
  type Judge,
  type OpenApiDocument,
  type OperationAt,
  operationsOf,
  strayness,
} from "../../support/openapi.ts"
import { fitting } from "../../support/schema-arbitrary.ts"

const REQUESTS = 5_500
const AT_ONCE = 16
const SEED = 20_261_130

let api: Api
let document: OpenApiDocument
let judge: Judge
let tokens: { readonly all: string; readonly some: string; readonly foreign: string }

beforeAll(async () => {
  api = await startApi()
  document = await fetchDocument(api.worker.url)
  judge = createJudge(document)
  tokens = {
    all: await api.token(),
    some: await api.token({ scope: "state:seal" }),
    foreign: await api.token({ audience: "https://other.test/v1", scope: ALL_SCOPES }),
  }
})

afterAll(() => api.stop())

type Body = Record<string, unknown>

/** What the server gave in answers, to be sent again: without it no fuzzing gets past the first check of a state. */
const given = { states: [""], claims: new Map<string, string>() }
const STATES_KEPT = 8

/** One request: a body that fits and how it is spoilt, if it is. */
interface Shot {
  readonly body: unknown
  /** Takes members of the body from a small world, in which calls meet. */
  readonly acquainted: boolean
  readonly mutations: readonly Mutation[]
  readonly key: string
  readonly query: string
  readonly token: keyof typeof tokens | "none"
  readonly contentType: string
  readonly method: string | undefined
  readonly broken: "no" | "cut" | "bytes" | "twice"
  readonly pick: number
}

interface Mutation {
  readonly kind: "drop" | "replace" | "add" | "nest"
  readonly at: number
  readonly value: unknown
}

const JUNK = [
  null,
  true,
  0,
  -1,
  1.5,
  1e15,
  2 ** 53,
  "",
  " ",
  "60",
  "\ud800",
  "__proto__",
  "x".repeat(600),
  [],
  {},
  [[]],
  { a: { b: 1 } },
]
const rarely = <T>(usual: T, ...others: T[]) =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(usual, ...others) })

const mutation = fc.record<Mutation>({
  kind: fc.constantFrom("drop", "replace", "add", "nest"),
  at: fc.nat(20),
  value: fc.oneof(fc.constantFrom(...JUNK), fc.jsonValue()),
})

function shots({ operation, method }: OperationAt): fc.Arbitrary<Shot> {
  const schema = operation.requestBody?.content["application/json"]?.schema
  return fc.record<Shot>({
    body: schema ? fitting(document, schema) : fc.constant(undefined),
    acquainted: fc.boolean(),
    mutations: fc.oneof(fc.constant([]), fc.array(mutation, { maxLength: 3 })),
    key: fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom(..."abcdefghijkl") },
      { weight: 1, arbitrary: fc.constantFrom("", "%20", "%00", "%", "%FF", "%2F", "k".repeat(300), "..", "a%2Fb") },
    ),
    query: rarely("", "?principal=alice", "?principal=", "?principal=a&principal=b", "?x=1"),
    token: rarely<Shot["token"]>("all", "some", "foreign", "none"),
    contentType: rarely("application/json", "Application/JSON; charset=utf-8", "text/plain", ""),
    method: rarely<string | undefined>(undefined, method === "GET" ? "POST" : "GET", "PUT", "DELETE"),
    broken: rarely<Shot["broken"]>("no", "cut", "bytes", "twice"),
    pick: fc.nat(1_000),
  })
}

const WHOM = { principal: "alice", request: { method: "tools/call", target: "x", arguments: { a: 1 } } }

/** Members that mostly lead to a refusal: by themselves, or beside another. */
const CONTRADICTED: readonly (readonly [name: string, beside: string])[] = [
  ["audience", ""],
  ["deadlineSeconds", ""],
  ["maxRounds", "continues"],
  ["request", "fingerprint"],
]

/** Bound to the few whom the world has, with states and claims that the server gave. */
function acquaint(body: unknown, shot: Pick<Shot, "pick" | "key">): unknown {
  if (Array.isArray(body)) return body.map((one) => acquaint(one, shot))
  if (typeof body !== "object" || body === null) return body
  const { pick, key } = shot
  const known: Body = {
    ...WHOM,
    principal: pick % 10 === 0 ? "bob" : "alice",
    fingerprint: pick % 10 === 0 ? "two" : "one",
    requestState: given.states[pick % given.states.length],
    continues: given.states[pick % given.states.length],
    claim: given.claims.get(key) ?? "",
    attemptId: `attempt-0123456789-${pick % 3}`,
    maxRounds: 1 + (pick % 3),
    leaseSeconds: 1 + (pick % 5),
  }
  const members = Object.entries(body)
    .filter(([name]) => !CONTRADICTED.some(([one, other]) => one === name && (other === "" || other in body)))
    .map(([name, value]) => [name, Object.hasOwn(known, name) ? known[name] : acquaint(value, shot)])
  return Object.fromEntries(members)
}

function mutate(body: unknown, { kind, at, value }: Mutation): unknown {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return kind === "replace" ? value : body
  const names = Object.keys(body)
  const name = names[at % Math.max(names.length, 1)] ?? "x"
  switch (kind) {
    case "drop":
      return Object.fromEntries(Object.entries(body).filter(([one]) => one !== name))
    case "replace":
      return { ...body, [name]: value }
    case "add":
      return { ...body, [typeof value === "string" ? value : "surprise"]: value }
    case "nest":
      return {
        ...body,
        [name]: mutate(Object.entries(body)[at % Math.max(names.length, 1)]?.[1], { kind: "replace", at, value }),
      }
  }
}

/** Nobody waits here: it would be all that this test does. */
function impatient(body: unknown): unknown {
  const waits = typeof body === "object" && body !== null && "waitSeconds" in body && Number(body.waitSeconds) > 0
  return waits ? { ...body, waitSeconds: 0 } : body
}

async function fire(target: OperationAt, shot: Shot) {
  const method = shot.method ?? target.method
  const body = shot.mutations.reduce(mutate, shot.acquainted ? acquaint(shot.body, shot) : shot.body)
  const response = await fetch(`${api.worker.url}${target.path.replace("{key}", shot.key)}${shot.query}`, {
    method,
    headers: {
      ...(shot.token !== "none" && { authorization: `Bearer ${tokens[shot.token]}` }),
      ...(shot.contentType !== "" && { "content-type": shot.contentType }),
    },
    ...(method !== "GET" && { body: encode(impatient(body), shot.broken) }),
  })
  const text = await response.text()
  return {
    method,
    status: response.status,
    headers: response.headers,
    body: text === "" ? undefined : JSON.parse(text),
  }
}

function encode(body: unknown, broken: Shot["broken"]): Uint8Array<ArrayBuffer> {
  const text = JSON.stringify(body) ?? ""
  switch (broken) {
    case "no":
      return new TextEncoder().encode(text)
    case "cut":
      return new TextEncoder().encode(text.slice(0, text.length / 2))
    case "bytes":
      return new TextEncoder().encode(text).map((byte, index) => (index === text.length >> 1 ? 0xff : byte))
    case "twice":
      return new TextEncoder().encode(text + text)
  }
}

function remember(body: unknown, { acquainted, key }: Shot): void {
  if (typeof body !== "object" || body === null || !acquainted) return
  if ("requestState" in body && typeof body.requestState === "string") given.states.push(body.requestState)
  if (given.states.length > STATES_KEPT) given.states.shift()
  if ("claim" in body && typeof body.claim === "string") given.claims.set(key, body.claim)
}

/** Another method or path than the document's is answered with a problem of its components. */
function undescribed(answer: Awaited<ReturnType<typeof fire>>): string | undefined {
  const code = answer.status === 405 ? "method_not_allowed" : "not_found"
  return judge({ $ref: `#/components/schemas/problem.${code}` }, answer.body)
}

it(`answers ${REQUESTS} requests of its own document, mutated, as the document describes`, async () => {
  const operations = operationsOf(document)
  const each = REQUESTS / operations.length
  const queue = operations
    .flatMap((target, index) =>
      fc.sample(shots(target), { seed: SEED + index, numRuns: each }).map((shot) => ({ target, shot })),
    )
    .sort((one, other) => one.shot.pick - other.shot.pick)
  expect(queue).toHaveLength(REQUESTS)
  const seen = new Map<string, number>()
  const wrong: unknown[] = []

  async function work(): Promise<void> {
    for (let next = queue.pop(); next; next = queue.pop()) {
      const { target, shot } = next
      const answer = await fire(target, shot)
      remember(answer.body, shot)
      const what = `${target.operation.operationId} ${answer.body?.code ?? answer.status}`
      seen.set(what, (seen.get(what) ?? 0) + 1)
      const elsewhere = answer.method !== target.method || shot.key === ".."
      const stray =
        elsewhere && [404, 405].includes(answer.status) ? undescribed(answer) : strayness(judge, target, answer)
      if (answer.status >= 500 || stray !== undefined) wrong.push({ what, stray, shot })
    }
  }

  await Promise.all(Array.from({ length: AT_ONCE }, work))
  expect(wrong).toEqual([])
  expect([...seen.keys()]).toEqual(expect.arrayContaining(REACHED))
  expect(api.worker.logs()).not.toContain('"event":"fault"')
}, 120_000)

/** Without these the fuzzing would stop at the door. */
const REACHED = [
  ...["seal 200", "seal invalid_request_state", "seal rounds_exceeded", "seal invalid_body", "seal invalid_json"],
  ...["seal unauthorized", "seal invalid_token", "seal unsupported_media_type", "seal method_not_allowed"],
  ...["open 200", "open invalid_request_state", "open insufficient_scope"],
  ...["redeem 200", "redeem already_redeemed", "redeem invalid_request_state"],
  ...["batch 200", "batch invalid_body", "keys 200"],
  ...["begin 201", "begin operation_in_progress", "begin operation_mismatch", "begin invalid_parameter"],
  ...["complete 200", "complete stale_claim", "fail 200", "resolve not_unknown", "read 200"],
]
