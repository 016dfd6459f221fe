// docs/observability.md: a newcomer lets a tool act, and finds the operation in the log.
import { expect, it } from "vitest"
import { freePort } from "../support/port.ts"
import { newcomer } from "./newcomer.ts"
import { blocksOf, codeOf, expectPrinted } from "./page.ts"

it("a newcomer finds an operation in the logs", { timeout: 120_000 }, async () => {
  const blocks = blocksOf("docs/observability.md", "Finding an operation")
  const [start = "", find = ""] = codeOf(blocks, "sh", 2)
  const [lines = ""] = codeOf(blocks, "text", 1)
  const someone = newcomer("a copy")
  // The port of the page may be somebody else's: the server runs at another one, for tokens of the page's own address.
  const port = String(await freePort())
  const origin = "http://localhost:8787"
  const server = someone.begin(start, { PORT: port, PUBLIC_URL: origin, AUTH_ISSUER: origin })
  try {
    await expect.poll(() => server.printed(), { timeout: 90_000 }).toContain("Waxseal runs on")
    expectPrinted(await someone.sh(find.replace("localhost:8787", `localhost:${port}`)), lines)
  } finally {
    await server.stop()
    someone.leave()
  }
})
