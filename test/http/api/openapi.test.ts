import { Validator } from "@seriousme/openapi-schema-validator"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Api, startApi } from "../../support/api.ts"
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
      expect(statuses).toEqual(expect.arrayContaining(["200", "401", "403", "429", "500", "503"]))
      if (method === "POST") expect(statuses).toEqual(expect.arrayContaining(["400", "408", "413", "415"]))
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
