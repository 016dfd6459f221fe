import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { z } from "zod"

const FILE = join(import.meta.dirname, "../results.json")

const Figure = z.object({
  name: z.string(),
  /** Ours: the median over all rounds. */
  value: z.number(),
  unit: z.string(),
  /** What it is compared with. */
  peer: z.string().exactOptional(),
  /** Ours ÷ peer, the median over pairs of neighbouring rounds; for speeds more is better. */
  ratio: z.number().exactOptional(),
  /** Half the distance between the quartiles: of `ratio` where there is one, else of `value`. */
  spread: z.number().exactOptional(),
})

export type Figure = Readonly<z.infer<typeof Figure>>

/** Puts new figures in the place of older ones of the same name and peer, and keeps all others. */
export async function mergeIntoResults(figures: readonly Figure[]): Promise<void> {
  const results = new Map((await readResults()).map((figure) => [keyOf(figure), figure]))
  for (const figure of figures) results.set(keyOf(figure), rounded(figure))
  const sorted = [...results.values()].sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
  await writeFile(FILE, `${JSON.stringify(sorted, null, 2)}\n`)
}

export function printTable(figures: readonly Figure[]): void {
  console.table(
    Object.fromEntries(
      figures
        .map(rounded)
        .map(({ name, value, unit, peer = "", ratio = "", spread = "" }) => [
          name,
          { value, unit, peer, ratio, "±": spread },
        ]),
    ),
  )
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** Half the distance between the quartiles. */
export function spreadOf(values: readonly number[]): number {
  return (quantile(values, 0.75) - quantile(values, 0.25)) / 2
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other)
  const position = (sorted.length - 1) * share
  const below = sorted[Math.floor(position)]
  const above = sorted[Math.ceil(position)]
  if (below === undefined || above === undefined) throw new Error("A figure needs at least one round.")
  return below + (above - below) * (position - Math.floor(position))
}

/** All figures that were recorded; none where nothing was. */
export async function readResults(): Promise<Figure[]> {
  try {
    return z.array(Figure).parse(JSON.parse(await readFile(FILE, "utf8")))
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return []
    throw new Error(`${FILE} is not a list of figures; repair or remove it.`, { cause: error })
  }
}

function keyOf({ name, peer = "" }: Figure): string {
  return `${name} ${peer}`
}

function rounded(figure: Figure): Figure {
  const numbers = Object.entries(figure).map(([member, value]) => [
    member,
    typeof value === "number" ? Number(value.toPrecision(4)) : value,
  ])
  return Figure.parse(Object.fromEntries(numbers))
}
