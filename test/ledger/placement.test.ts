import { describe, expect, test } from "vitest"
import { chooseHome, type Entry } from "../../src/ledger/index.ts"
import { locationHint, REGIONS } from "../../src/ledger/placement.ts"

const zeros = (bytes: number) => new Uint8Array(bytes)
const hintFor = (cf: Entry | undefined) => locationHint(chooseHome(cf, 16, zeros))

describe("a request's region is the one nearest to where it entered", () => {
  test.for([
    ["San Francisco", "NA", 37.8, -122.4, "wnam"],
    ["Denver", "NA", 39.7, -105, "wnam"],
    ["New York", "NA", 40.7, -74, "enam"],
    ["Mexico City", "NA", 19.4, -99.1, "enam"],
    ["São Paulo", "SA", -23.5, -46.6, "sam"],
    ["London", "EU", 51.5, -0.1, "weur"],
    ["Berlin", "EU", 52.5, 13.4, "weur"],
    ["Warsaw", "EU", 52.2, 21, "eeur"],
    ["Istanbul", "EU", 41, 29, "eeur"],
    ["Lagos", "AF", 6.5, 3.4, "afr"],
    ["Johannesburg", "AF", -26.2, 28, "afr"],
    ["Dubai", "AS", 25.2, 55.3, "me"],
    ["Tel Aviv", "AS", 32.1, 34.8, "me"],
    ["Mumbai", "AS", 19.1, 72.9, "apac"],
    ["Tokyo", "AS", 35.7, 139.7, "apac-ne"],
    ["Hong Kong", "AS", 22.3, 114.2, "apac-ne"],
    ["Singapore", "AS", 1.4, 103.8, "apac-se"],
    ["Jakarta", "AS", -6.2, 106.8, "apac-se"],
    ["Sydney", "OC", -33.9, 151.2, "oc"],
    ["McMurdo", "AN", -77.8, 166.7, "oc"],
  ] as const)("%s", ([, continent, latitude, longitude, region]) => {
    expect(hintFor({ continent, latitude: String(latitude), longitude: String(longitude) })).toBe(region)
  })
})

test("each continent has a region also without coordinates", () => {
  const continents = ["AF", "AN", "AS", "EU", "NA", "OC", "SA"] as const
  expect(continents.map((continent) => hintFor({ continent }))).toEqual([
    "afr",
    "oc",
    "apac",
    "weur",
    "enam",
    "oc",
    "sam",
  ])
  expect(hintFor({ continent: "AS", latitude: "", longitude: "" })).toBe("apac")
})

test("where nothing is known the region is eastern North America", () => {
  expect(hintFor(undefined)).toBe("enam")
  expect(hintFor({})).toBe("enam")
  expect(hintFor({ latitude: "35.7", longitude: "139.7" })).toBe("enam")
})

test("tokens carry indexes into the list of regions, so it only ever grows", () => {
  expect(REGIONS.slice(0, 11)).toEqual([
    "wnam",
    "enam",
    "sam",
    "weur",
    "eeur",
    "apac",
    "oc",
    "afr",
    "me",
    "apac-ne",
    "apac-se",
  ])
  expect(REGIONS.length).toBeLessThanOrEqual(256)
  expect(locationHint({ region: 255, shard: 0 })).toBeUndefined()
})

test("every shard is reached, evenly, and none beyond", () => {
  const counts = new Map<number, number>()
  for (let high = 0; high < 256; high++)
    for (let low = 0; low < 256; low++) {
      const { shard } = chooseHome(undefined, 12, () => Uint8Array.of(high, low))
      counts.set(shard, (counts.get(shard) ?? 0) + 1)
    }
  expect([...counts.keys()].sort((one, other) => one - other)).toEqual(Array.from({ length: 12 }, (_, shard) => shard))
  expect(Math.max(...counts.values()) - Math.min(...counts.values())).toBeLessThanOrEqual(1)
  expect(chooseHome(undefined, 65_536, () => Uint8Array.of(255, 255)).shard).toBe(65_535)
  expect(chooseHome(undefined, 1, () => Uint8Array.of(255, 255)).shard).toBe(0)
})

test.for([0, -1, 1.5, 65_537, Number.NaN])("%d shards are refused", (shards) => {
  expect(() => chooseHome(undefined, shards, zeros)).toThrow(RangeError)
})
