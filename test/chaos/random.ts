/** Choices that a seed repeats. */
export interface Random {
  /** 0 or more and less than `below`. */
  number(below: number): number
  whole(below: number): number
  chance(probability: number): boolean
  oneOf<T>(items: readonly [T, ...T[]]): T
  /** Choices of its own, so that what others choose does not change them. */
  branch(): Random
}

/** Mulberry32. */
export function seeded(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const whole = (below: number) => Math.floor(next() * below)
  return {
    number: (below) => next() * below,
    whole,
    chance: (probability) => next() < probability,
    oneOf: (items) => items[whole(items.length)] ?? items[0],
    branch: () => seeded(whole(2 ** 32)),
  }
}
