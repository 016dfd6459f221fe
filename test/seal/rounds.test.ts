import { expect, it } from "vitest"
import type { Contents } from "../../src/seal/index.ts"
import { firstRound, nextRound } from "../../src/seal/index.ts"

const NOW = Date.parse("2026-11-30T09:00:00Z")
const HOME = { region: 0, shard: 0 }

it("has a life of five minutes, ten in all, and three rounds, unless told otherwise", () => {
  const round = { round: 1, roundLimit: 3, issuedAt: NOW, expiresAt: NOW + 300_000, deadline: NOW + 600_000 }
  expect(firstRound({}, NOW)).toEqual(round)
  expect(firstRound({ ttlSeconds: undefined, maxRounds: undefined, deadlineSeconds: undefined }, NOW)).toEqual(round)
  expect(firstRound({ ttlSeconds: 900 }, NOW).deadline).toBe(NOW + 900_000)
  expect(firstRound({ ttlSeconds: 900, deadlineSeconds: 1_000 }, NOW).deadline).toBe(NOW + 1_000_000)
})

it.each([0, -1, 1.5, 21, 31, Number.NaN])("has no limit of %s rounds", (maxRounds) => {
  expect(() => firstRound({ maxRounds }, NOW)).toThrow("maxRounds must be a whole number from 1 to 20.")
})

it("goes on to its limit, never past its deadline, never back in time", () => {
  const first = { ...firstRound({ maxRounds: 2 }, NOW), home: HOME, state: 1, operation: "o" } as unknown as Contents
  const second = nextRound(first, {}, NOW - 5_000)
  expect(second).toMatchObject({ round: 2, issuedAt: NOW, expiresAt: NOW + 300_000, deadline: first.deadline })
  expect(nextRound(first, { ttlSeconds: 86_400 }, NOW + 1)?.expiresAt).toBe(first.deadline)
  expect(nextRound({ ...first, round: 2 }, {}, NOW)).toBeUndefined()
})
