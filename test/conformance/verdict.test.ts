import { describe, expect, test } from "vitest"
import { Checks, faults } from "./verdict.ts"

const success = { id: "one", status: "SUCCESS" } as const
const warning = { id: "two", status: "WARNING", errorMessage: "It should." } as const
const failure = { id: "two", status: "FAILURE", errorMessage: "It must." } as const

function lacksTool(id: string) {
  const errorMessage = `Not testable: server does not list the diagnostic tool 'test_${id}' in tools/list`
  return { id, status: "FAILURE", errorMessage } as const
}

describe("a scenario", () => {
  test("passes when its checks succeed, or say that they do not apply", () => {
    expect(faults([success, { id: "two", status: "SKIPPED" }, { id: "three", status: "INFO" }])).toEqual([])
  })

  test("fails on a failure, and on a warning too", () => {
    expect(faults([success, failure])).toEqual(["FAILURE two: It must."])
    expect(faults([success, warning])).toEqual(["WARNING two: It should."])
  })

  test("fails when it shows nothing", () => {
    expect(faults(undefined)).toEqual(["The scenario ended without a result."])
    expect(faults([])).toEqual(["Nothing in it succeeded."])
    expect(faults([{ id: "one", status: "SKIPPED" }])).toEqual(["Nothing in it succeeded."])
  })

  test("is excused from a check that lacks the suite's tool, and from no other", () => {
    expect(faults([success, lacksTool("two")], ["two"])).toEqual([])
    expect(faults([success, lacksTool("two")], ["three"])).toHaveLength(1)
    expect(faults([success, failure], ["two"])).toEqual(["FAILURE two: It must."])
    expect(faults([lacksTool("two")], ["two"])).toEqual(["Nothing in it succeeded."])
  })
})

test("A status that is not known here is an error, never a pass", () => {
  expect(Checks.safeParse([{ id: "one", status: "ERROR" }]).success).toBe(false)
})
