import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { Validator } from "@seriousme/openapi-schema-validator"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { z } from "zod"
import { type Api, startApi } from "../../support/api.ts"
import { ROOT } from "../../support/bundle.ts"
import { createJudge, fetchDocument, type Judge, type OpenApiDocument, operationsOf } from "../../support/openapi.ts"

let api: Api
let document: OpenApiDocument
let judge: Judge

beforeAll(async () => {
  api = await startApi()
  document = await fetchDocument(api.worker.url)
  judge = createJudge(document)
})

afterAll(() => api.stop())

it("the errors are those that docs/api.md lists", async () => {
  const rows = (await readFile(join(ROOT, "docs/api.md"), "utf8")).matchAll(/^\| `(\w+)` +\| (\d{3}) +\| (.+?) +\|$/gm)
  const listed = [...rows].map(([, code, status, title]) => [code, { status: Number(status), title }])
  const Kind = z.object({
    properties: z.looseObject({ status: z.object({ const: z.number() }), title: z.object({ const: z.string() }) }),
  })
  const described = Object.entries(document.components.schemas).flatMap(([name, schema]) => {
    if (!name.startsWith("problem.")) return []
    const { status, title } = Kind.parse(schema).properties
    return [[name.slice("problem.".length), { status: status.const, title: title.const }]]
  })
  expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(described))
})

describe("/openapi.json", () => {
  it("is for anybody, browsers included", async () => {
    const response = await fetch(`${api.worker.url}/openapi.json`)
    expect(response.status).toBe(200)
    expect(response.headers.get("content-type")).toBe("application/json")
    expect(response.headers.get("access-control-allow-origin")).toBe("*")
    expect(document).toMatchObject({ openapi: "3.1.1", servers: [{ url: api.worker.url }] })
  })

  it("is valid OpenAPI 3.1", async () => {
    const validator = new Validator()
    expect(await validator.validate(JSON.parse(JSON.stringify(document)))).toEqual({ valid: true })
    expect(validator.version).toBe("3.1")
  })

  it("describes every endpoint, with its scope", () => {
    const described = operationsOf(document).map(({ method, path, operation }) => [
      `${method} ${path}`,
      operation.security.flatMap(({ accessToken = [] }) => accessToken).join(" "),
    ])
    expect(Object.fromEntries(described)).toEqual({
      "POST /v1/seal": "state:seal",
      "POST /v1/open": "state:open",
      "POST /v1/redeem": "state:redeem",
      "POST /v1/batch": "",
      "GET /v1/keys": "state:open",
      "POST /v1/operations/{key}/begin": "operations",
      "POST /v1/operations/{key}/complete": "operations",
      "POST /v1/operations/{key}/fail": "operations",
      "POST /v1/operations/{key}/renew": "operations",
      "POST /v1/operations/{key}/resolve": "operations",
      "GET /v1/operations/{key}": "operations",
    })
  })

  it("describes the errors of each", () => {
    for (const { method, operation } of operationsOf(document)) {
      const statuses = Object.keys(operation.responses)
      expect(statuses).toEqual(expect.arrayContaining(["200", "400", "401", "403", "429", "500", "503"]))
      if (method === "POST") expect(statuses).toEqual(expect.arrayContaining(["408", "413", "415"]))
    }
  })

  it("shows each problem in an example that fits its schema", () => {
    const { schemas } = document.components
    const problems = Object.entries(schemas).filter(([name]) => name.startsWith("problem."))
    expect(problems.length).toBeGreaterThan(20)
    for (const [name, schema] of problems) {
      const [example, ...others] = z.array(z.unknown()).parse(schema["examples"])
      expect([name, others, judge(schema, example)]).toEqual([name, [], undefined])
    }
  })

  it("has examples of bodies and answers that fit their own schemas", () => {
    let examples = 0
    for (const { path, operation } of operationsOf(document)) {
      const contents = [operation.requestBody, ...Object.values(operation.responses)].flatMap((one) =>
        Object.values(one?.content ?? {}),
      )
      for (const { schema, example } of contents) {
        if (example === undefined) continue
        examples += 1
        expect([path, judge(schema, example)]).toEqual([path, undefined])
      }
    }
    expect(examples).toBeGreaterThanOrEqual(20)
  })
})
