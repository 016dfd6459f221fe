import { expect, it } from "vitest"
import { PROBLEMS } from "../../src/api/problems.ts"
import { API_CODES } from "../../src/client/errors.ts"

it("the client knows the API's codes, and no others", () => {
  expect([...API_CODES].sort()).toEqual(Object.keys(PROBLEMS).sort())
})
