// CONTRIBUTING.md: a newcomer adds a tool to a copy of the project, and everything there is content with it.
import { it } from "vitest"
import { newcomer } from "./newcomer.ts"
import { blocksOf, codeOf } from "./page.ts"

it("a newcomer adds a tool", { timeout: 180_000 }, async () => {
  const someone = newcomer("a copy")
  for (const step of codeOf(blocksOf("CONTRIBUTING.md", "Add a tool"), "sh", 3)) await someone.sh(step)
  someone.leave()
})
