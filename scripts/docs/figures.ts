// What pages say of a figure, from the figures themselves. A page marks a number, and this fills it in:
//
//   <!-- figure: ledger.shard.ratio:32 ratio -->2.8<!-- / -->
//   <!-- figure: seal.size.reference ratio of SDK codec -->0.65<!-- / -->   (where a name has several peers)
//   <!-- table: costs --> … <!-- / -->
//
// It knows markers and rounding, and not what any figure means.
import type { Figure } from "../../bench/lib/figures.ts"

/** Tables by name, each made from figures alone. */
export type Tables = Readonly<Record<string, (figures: readonly Figure[]) => string>>

const MARKED = /<!-- (figure|table): (.*?) -->([\s\S]*?)<!-- \/ -->/g
const NAMED = /^(\S+) (value|ratio|spread)(?: of (.+))?$/

/** The page with every marked number and table as the figures have it; a fixed point where nothing changed. */
export function filledIn(page: string, figures: readonly Figure[], tables: Tables): string {
  if (/^<!-- figure/m.test(page))
    throw new Error("A page marks a figure at the start of a line, which ends a paragraph.")
  return page.replace(MARKED, (_, kind: string, name: string) => {
    const text = kind === "table" ? `\n${tableOf(name, figures, tables)}\n` : numberOf(name, figures)
    return `<!-- ${kind}: ${name} -->${text}<!-- / -->`
  })
}

/** How what was measured is written. A limit is another thing: "within" or "for" so long. */
const MEASURED = [
  /\d[\d,.]* ?(?:×|[a-z]+\/s\b|times as (?:fast|many|much|long)|% (?:faster|slower))/g,
  /\b(?:twice|(?:two|three|four|five|six|seven|eight|nine|ten) times) as (?:fast|many|much|long)/gi,
  /\b(?:takes?|took|costs?) (?:(?:about|some|only|less than|under|a|half) )*(?:\d[\d,.]* ?)?(?:µs|ms|\w*seconds?)\b/gi,
]

/** What was measured and stands outside of any marker: nobody could tell where it comes from. */
export function unmarked(page: string): string[] {
  const prose = page.replace(MARKED, "").replace(/^```[\s\S]*?^```$/gm, "")
  return MEASURED.flatMap((pattern) => [...prose.matchAll(pattern)].map(([text]) => text))
}

/** One figure by its name, and by its peer where the name is not enough. */
export function figureOf(name: string, figures: readonly Figure[], peer?: string): Figure {
  const found = figures.filter((figure) => figure.name === name && (peer === undefined || figure.peer === peer))
  const [figure] = found
  if (figure && found.length === 1) return figure
  const problem = figure
    ? "several peers; say which, with `of`"
    : "not been recorded; run `npm run bench`, or correct it"
  throw new Error(`The figure ${name}${peer === undefined ? "" : ` of ${peer}`} has ${problem}.`)
}

/** All that was recorded. */
export function figuresTable(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => {
    const { name, unit, peer = "", ratio, spread } = figure
    const compared = ratio === undefined ? "" : rounded(figure, "ratio")
    return [
      `\`${name}\``,
      `${rounded(figure, "value")} ${unit}`,
      peer,
      compared,
      spread ? rounded(figure, "spread") : "",
    ]
  })
  return table(["figure", "ours", "compared with", "ours ÷ peer", "±"], rows)
}

/** In Markdown, as the formatter writes it; what is not in the first column stands to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(3, title.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const line = (cells: readonly string[]) => {
    const padded = widths.map((width, column) => {
      const cell = cells[column] ?? ""
      return column === 0 ? cell.padEnd(width) : cell.padStart(width)
    })
    return `| ${padded.join(" | ")} |`
  }
  const rule = widths.map((width, column) => (column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`))
  return [line(head), line(rule), ...rows.map(line)].join("\n")
}

function tableOf(name: string, figures: readonly Figure[], tables: Tables): string {
  const table = tables[name]
  if (!table) throw new Error(`There is no table called ${name}; there are ${Object.keys(tables).join(", ")}.`)
  return table(figures)
}

function numberOf(text: string, figures: readonly Figure[]): string {
  const [, name = "", member, peer] = NAMED.exec(text) ?? []
  if (member !== "value" && member !== "ratio" && member !== "spread") {
    throw new Error(`A page marks the figure "${text}"; write a name, then value, ratio or spread.`)
  }
  return rounded(figureOf(name, figures, peer), member)
}

/**
 * No digit that the next run would change: a ratio ends with the first digit of its spread, and a value, which moves with
 * the machine, has two. What is counted, such as rows, is a whole number and exact.
 */
function rounded(figure: Figure, member: "value" | "ratio" | "spread"): string {
  const { ratio, spread, [member]: number } = figure
  if (number === undefined) throw new Error(`The figure ${figure.name} has no ${member}; name another member.`)
  const isCounted = Number.isInteger(number) && ratio === undefined && spread === undefined
  if (isCounted) return plain(number)
  if (member === "spread") return plain(Number(number.toPrecision(1)))
  if (member === "ratio" && spread) return number.toFixed(Math.max(0, -Math.floor(Math.log10(spread))))
  return plain(Number(number.toPrecision(2)))
}

function plain(number: number): string {
  return number.toLocaleString("en-US", { maximumFractionDigits: 6 })
}
