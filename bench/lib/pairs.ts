import { type Figure, median, spreadOf } from "./figures.ts"

/** One measurement: how many units of work a second. */
export type Round = () => Promise<number>

export interface Pair {
  readonly ours: number
  readonly peer: number
}

/**
 * Measures both sides in turn, in the order A B B A A B B A …: neighbours see the same machine, and neither side
 * always goes first.
 */
export async function measureInPairs(count: number, ours: Round, peer: Round): Promise<Pair[]> {
  const pairs: Pair[] = []
  for (let index = 0; index < count; index++) {
    if (index % 2 === 0) {
      const first = await ours()
      pairs.push({ ours: first, peer: await peer() })
    } else {
      const first = await peer()
      pairs.push({ ours: await ours(), peer: first })
    }
  }
  return pairs
}

/** The figure of a comparison: our median, and the median and spread of the ratios within pairs. */
export function compare(name: string, unit: string, peer: string, pairs: readonly Pair[]): Figure {
  const ratios = pairs.map((pair) => pair.ours / pair.peer)
  const value = median(pairs.map((pair) => pair.ours))
  return { name, value, unit, peer, ratio: median(ratios), spread: spreadOf(ratios) }
}
