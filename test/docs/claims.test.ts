// The tests that pages name exist under that name, and what pages link to is there.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { expect, it } from "vitest"
import { ROOT } from "../support/bundle.ts"

const NOT_OURS = /(^|\/)(node_modules|dist|coverage|\.git|\.wrangler)(\/|$)/

const PAGES = readdirSync(ROOT, { recursive: true, encoding: "utf8" }).filter(
  (file) => file.endsWith(".md") && !NOT_OURS.test(file),
)

/** In a page: a file of tests, and behind it titles in quotation marks. */
function namedTests(page: string): [file: string, title: string][] {
  return [...page.matchAll(/`(test\/[\w/.-]+\.test\.ts)`:\s((?:"[^"]+"(?:,\s)?)+)/g)].flatMap(
    ([, file = "", titles = ""]) =>
      [...titles.matchAll(/"([^"]+)"/g)].map(([, title = ""]): [string, string] => [file, title.replace(/\s+/g, " ")]),
  )
}

/** What stands for many titles: a part that is left out here, or filled in there. */
const OPEN = /…|%[sdij]|\$\{[^}]*\}|\$\w+/

/** Whether the source has a test or a group of this name. */
function hasTest(source: string, title: string): boolean {
  const titles = [...source.matchAll(/(["'`])((?:\\.|(?!\1).)+)\1,/g)].map(([, , text = ""]) =>
    text.replaceAll("\\", ""),
  )
  return titles.some(
    (candidate) => candidate === title || patternOf(candidate).test(title) || patternOf(title).test(candidate),
  )
}

/** Of a title that is open at some place; what is open everywhere means nothing. */
function patternOf(title: string): RegExp {
  const parts = title.split(OPEN)
  if (parts.length === 1 || parts.join("").trim().length < 8) return /(?!)/
  return new RegExp(`^${parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join(".*")}$`)
}

function missingTests(page: string): string[] {
  return namedTests(page)
    .filter(([file, title]) => !existsSync(join(ROOT, file)) || !hasTest(readFileSync(join(ROOT, file), "utf8"), title))
    .map(([file, title]) => `${file}: ${title}`)
}

/** As GitHub names headings. */
function anchorsOf(page: string): Set<string> {
  const headings = page.replace(/^```[\s\S]*?^```$/gm, "").matchAll(/^#+ (.*)$/gm)
  return new Set(
    [...headings].map(([, heading = ""]) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  )
}

function brokenLinks(page: string, text: string): string[] {
  const links = text.replace(/^```[\s\S]*?^```$/gm, "").matchAll(/\]\(([^)\s]+)\)/g)
  return [...links].flatMap(([, link = ""]) => (/^[a-z]+:/.test(link) || leads(page, text, link) ? [] : [link]))
}

function leads(page: string, text: string, link: string): boolean {
  const [path = "", anchor] = link.split("#")
  const target = path === "" ? page : relative(ROOT, join(ROOT, dirname(page), path))
  if (target.startsWith("..") || !existsSync(join(ROOT, target))) return false
  if (anchor === undefined) return true
  if (statSync(join(ROOT, target)).isDirectory()) return false
  return anchorsOf(path === "" ? text : readFileSync(join(ROOT, target), "utf8")).has(anchor)
}

it("there are pages, and the threat model names many tests", () => {
  expect(PAGES).toEqual(expect.arrayContaining(["README.md", "docs/threat-model.md"]))
  expect(namedTests(readFileSync(join(ROOT, "docs/threat-model.md"), "utf8")).length).toBeGreaterThan(60)
})

it.each(PAGES)("%s names tests that exist, and links to what is there", (page) => {
  const text = readFileSync(join(ROOT, page), "utf8")
  expect({ missing: missingTests(text), broken: brokenLinks(page, text) }).toEqual({ missing: [], broken: [] })
})

it("a test that is gone and a link to nothing are noticed", () => {
  const claims = "test/docs/claims.test.ts"
  expect(missingTests(`\`${claims}\`: "a test that is gone … are noticed", "never was"`)).toEqual([
    `${claims}: never was`,
  ])
  const links =
    "[a](README.md#set-up) [b](docs/api.md#states) [c](docs) [d](gone.md) [e](#here) [f](https://x.test)\n## Here"
  expect(brokenLinks("CONTRIBUTING.md", links)).toEqual(["README.md#set-up", "gone.md"])
})
