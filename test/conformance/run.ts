import { join } from "node:path"
import { ROOT } from "../support/bundle.ts"
import { FOR_ANY_SERVER } from "./product.ts"
import { onFixture, onProduct } from "./servers.ts"
import { examine, requiredScenarios } from "./suite.ts"
import { type Checks, faults, succeeded } from "./verdict.ts"

const REVISION = "2026-07-28"
const RESULTS = join(ROOT, "dist/conformance")

const tally = { passed: 0, failed: 0 }

const required = await requiredScenarios(REVISION)
const ofFixture = await onFixture((url) => examine(url, REVISION, join(RESULTS, "fixture")))
const ofProduct = await onProduct((url) => examine(url, REVISION, join(RESULTS, "product")))

console.log(`The fixture, by what revision ${REVISION} requires:`)
for (const scenario of required) count(scenario, ofFixture.get(scenario))

console.log("\nThe product, by what fits any server:")
for (const [scenario, excused] of FOR_ANY_SERVER) count(scenario, ofProduct.get(scenario), excused)

console.log("\nNot scored, checks of the fixture that succeeded:")
for (const [scenario, checks] of ofFixture) {
  if (!required.includes(scenario)) console.log(`  ${scenario}: ${succeeded(checks)} of ${checks.length}`)
}

console.log(`\nEvery check is in ${RESULTS}`)
console.log(`${tally.passed} passed, ${tally.failed} failed`)
process.exitCode = tally.failed === 0 ? 0 : 1

function count(scenario: string, checks: Checks | undefined, excused?: readonly string[]): void {
  const found = faults(checks, excused)
  tally[found.length === 0 ? "passed" : "failed"] += 1
  console.log(`  ${found.length === 0 ? "pass" : "FAIL"}  ${scenario}`)
  for (const fault of found) console.log(`        ${fault}`)
}
