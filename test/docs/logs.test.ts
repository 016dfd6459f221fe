// docs/observability.md: a newcomer lets a tool act, and finds the operation in the log.
import { expect, it, vi } from "vitest"
import { freePort } from "../support/port.ts"
import { newcomer } from "./newcomer.ts"
import { blocksOf, codeOf, expectPrinted } from "./page.ts"

it("a newcomer finds an operation in the logs", { timeout: 120_000 }, async () => {
  const blocks = blocksOf("docs/observability.md", "Finding an operation")
  const [start = "", act = "", find = ""] = codeOf(blocks, "sh", 3)
  const [lines = ""] = codeOf(blocks, "text", 1)
  const someone = newcomer("a copy")
  // The port of the page may be somebody else's: the server runs at another one, for tokens of the page's own address.
  const port = String(await freePort())
  const origin = "http://localhost:8787"
  const server = someone.begin(start, { PORT: port, PUBLIC_URL: origin, AUTH_ISSUER: origin })
  try {
    await expect.poll(() => server.printed(), { timeout: 90_000 }).toContain("Waxseal runs on")
    const acted = act.replace("localhost:8787", `localhost:${port}`)
    const OPERATION = await someone.sh(`${acted}\nprintf %s "$OPERATION"`)
    expect(OPERATION).toMatch(/^[\w-]{16}$/)
    // What is printed comes into the file a moment later.
    await vi.waitFor(async () => expectPrinted(await someone.sh(find, { OPERATION }), lines), { timeout: 20_000 })
  } finally {
    await server.stop()
    someone.leave()
  }
})
