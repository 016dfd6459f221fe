import { join } from "node:path"
import { ROOT } from "../support/bundle.ts"
import { FOR_ANY_SERVER } from "./product.ts"
import { onFixture, onProduct } from "./servers.ts"
import { examine, requiredScenarios } from "./suite.ts"
import { type Checks, faults, succeeded } from "./verdict.ts"

/** The newest first: it is what the product is made for. */
const REVISIONS = ["2026-07-28", "2025-11-25"] as const
const RESULTS = join(ROOT, "dist/conformance")

const tally = { passed: 0, failed: 0 }

for (const revision of REVISIONS) await judge(revision)

console.log(`Every check is in ${RESULTS}`)
console.log(`${tally.passed} passed, ${tally.failed} failed`)
process.exitCode = tally.failed === 0 ? 0 : 1

async function judge(revision: (typeof REVISIONS)[number]): Promise<void> {
  const required = await requiredScenarios(revision)
  const ofFixture = await onFixture((url) => examine(url, revision, join(RESULTS, revision, "fixture")))
  const ofProduct = await onProduct((url) => examine(url, revision, join(RESULTS, revision, "product")))

  console.log(`The fixture, by what revision ${revision} requires:`)
  for (const scenario of required) count(scenario, ofFixture.get(scenario))

  console.log(`\nThe product at revision ${revision}, by what fits any server:`)
  for (const [scenario, excused] of FOR_ANY_SERVER[revision]) count(scenario, ofProduct.get(scenario), excused)

  console.log("\nNot scored, checks of the fixture that succeeded:")
  for (const [scenario, checks] of ofFixture) {
    if (!required.includes(scenario)) console.log(`  ${scenario}: ${succeeded(checks)} of ${checks.length}`)
  }
  console.log()
}

function count(scenario: string, checks: Checks | undefined, excused?: readonly string[]): void {
  const found = faults(checks, excused)
  tally[found.length === 0 ? "passed" : "failed"] += 1
  console.log(`  ${found.length === 0 ? "pass" : "FAIL"}  ${scenario}`)
  for (const fault of found) console.log(`        ${fault}`)
}
