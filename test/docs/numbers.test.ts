// The numbers in the pages are those of the bench, and a page that says something else is noticed.
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { filledIn, unmarked } from "../../scripts/docs/figures.ts"
import { ROOT } from "../support/bundle.ts"

const FIGURES = [
  { name: "speed", value: 1754, unit: "requests/s", peer: "a", ratio: 1.024, spread: 0.1437 },
  { name: "speed", value: 1754, unit: "requests/s", peer: "b", ratio: 2.752, spread: 0.0377 },
  { name: "bytes", value: 8192, unit: "bytes" },
]

const fill = (page: string) => filledIn(page, FIGURES, { all: () => "| all |" })

it("every number in the pages is the one in bench/results.json", () => {
  execFileSync(process.execPath, ["scripts/docs/numbers.ts", "--check"], { cwd: ROOT, stdio: "pipe" })
})

it("a number ends where the next run may differ", () => {
  expect(fill("a <!-- figure: speed ratio of a -->9<!-- / -->")).toBe(
    "a <!-- figure: speed ratio of a -->1.0<!-- / -->",
  )
  expect(fill("a <!-- figure: speed ratio of b -->9<!-- / -->")).toContain("-->2.75<!--")
  expect(fill("a <!-- figure: speed value of a -->9<!-- / -->")).toContain("-->1,800<!--")
  expect(fill("a <!-- figure: bytes value -->9<!-- / -->")).toContain("-->8,192<!--")
})

it("a table is made anew", () => {
  expect(fill("<!-- table: all -->\nold\n<!-- / -->")).toBe("<!-- table: all -->\n| all |\n<!-- / -->")
})

it.each([
  ["a figure that was not recorded", "a <!-- figure: size value -->9<!-- / -->", /has not been recorded/],
  ["one of several", "a <!-- figure: speed ratio -->9<!-- / -->", /several peers/],
  ["what a figure does not have", "a <!-- figure: bytes ratio -->9<!-- / -->", /has no ratio/],
  ["a table that is none", "<!-- table: none --><!-- / -->", /no table called none/],
  ["a mark that would end a paragraph", "<!-- figure: bytes value -->9<!-- / -->", /start of a line/],
])("%s is an error", (_what, page, problem) => {
  expect(() => fill(page)).toThrow(problem)
})

it("a measurement without a mark is noticed, and no other number", () => {
  const page = `Seals 3.5 × as fast, 8,500 requests/s, twice in 10 seconds <!-- figure: bytes value -->9 ×<!-- / -->.
A claim takes 3 ms, a start takes about a second; both are four times as long as waited for within 25 seconds.`
  expect(unmarked(page)).toEqual([
    "3.5 ×",
    "8,500 requests/s",
    "four times as long",
    "takes 3 ms",
    "takes about a second",
  ])
})

it("the limits of calls are those of wrangler.toml", () => {
  const limits = [...readFileSync(join(ROOT, "wrangler.toml"), "utf8").matchAll(/limit = ([\d_]+), period = (\d+)/g)]
  const [[, mcp, seconds] = [], [, api] = []] = limits.map((limit) => limit.map((text) => text.replaceAll("_", ",")))
  const page = readFileSync(join(ROOT, "docs/capacity.md"), "utf8")
  expect(page).toMatch(new RegExp(`calls in ${seconds} seconds, .* ${mcp} at \`/mcp\`, ${api} at \`/v1\``))
})
