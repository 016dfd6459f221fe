// Pages as their readers use them: blocks of commands, run as they stand, and blocks that say what is printed.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "vitest"
import { ROOT } from "../support/bundle.ts"
import { type CodeBlock, codeBlocks } from "../support/code-blocks.ts"

export function readPage(name: string): string {
  return readFileSync(join(ROOT, name), "utf8")
}

/** The blocks of one section, or of what stands before the first. A block that needs an account is marked `sh account`, and is none of them. */
export function blocksOf(name: string, heading: string): CodeBlock[] {
  const sections = readPage(name).split(/^(?=## )/m)
  const section = sections.find((text) => text.replace(/^##? /, "").startsWith(`${heading}\n`))
  if (section === undefined) throw new Error(`${name} has no section called ${heading}.`)
  return codeBlocks(section)
}

/** The code of the blocks in one language, in order; there must be so many. */
export function codeOf(blocks: readonly CodeBlock[], language: string, count: number): string[] {
  const found = blocks.filter((block) => block.language === language).map(({ code }) => code)
  expect(found).toHaveLength(count)
  return found
}

/** What differs from run to run, in the pages and in what commands print. */
const VARYING: readonly [RegExp, string][] = [
  [/\b[0-9a-f]{8}(?= )/g, "[0-9a-f]{8}"],
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z"],
  [/(?<="operation":")[\w-]{16}/g, "[\\w-]{16}"],
]

/** Every line of the page was printed, in this order; `…` stands for anything, and spaces for spaces. */
export function expectPrinted(printed: string, page: string): void {
  const lines = printed.split("\n")
  for (const line of page.trimEnd().split("\n")) {
    const pattern = patternOf(line)
    const at = lines.findIndex((candidate) => pattern.test(candidate))
    expect(at, `"${line}" is not in:\n${lines.join("\n")}`).not.toBe(-1)
    lines.splice(0, at + 1)
  }
}

function patternOf(line: string): RegExp {
  const [kept, ...varying] = VARYING.reduce<string[]>(
    ([text = "", ...found], [what, pattern]) => {
      const replaced = text.replace(what, () => `\uE000${found.push(pattern) - 1}\uE001`)
      return [replaced, ...found]
    },
    [line.trim()],
  )
  const escaped = (kept ?? "")
    .replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
    .replaceAll("…", ".*")
    .replace(/\s+/g, "\\s+")
  return new RegExp(escaped.replace(/\uE000(\d+)\uE001/g, (_, index) => varying[Number(index)] ?? ""))
}
