import type { Home } from "../seal/index.ts"

/** Tokens carry indexes into this list: append only, never reorder. */
export const REGIONS = [
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
] as const satisfies readonly DurableObjectLocationHint[]
type Region = (typeof REGIONS)[number]

/** Where a request goes whose origin is not known: local development, Tor, a test. */
const UNKNOWN: Region = "enam"

/** What the network says about where a request entered. Any member may be missing. */
export type Entry = Partial<Pick<IncomingRequestCfProperties, "continent" | "latitude" | "longitude">>

/**
 * Chooses where the record of a new operation will live: near where its first request entered, in one of that
 * region's shards at random. Later rounds copy the choice from their token, so it is made once and costs no I/O.
 *
 * `shards` is 1..65536 and may change at any time; `random` returns that many random bytes.
 *
 * @example chooseHome(request.cf, 16, (bytes) => crypto.getRandomValues(new Uint8Array(bytes)))
 */
export function chooseHome(cf: Entry | undefined, shards: number, random: (bytes: number) => Uint8Array): Home {
  if (!Number.isInteger(shards) || shards < 1 || shards > 65_536)
    throw new RangeError("The number of ledger shards must be a whole number from 1 to 65536.")
  const [high = 0, low = 0] = random(2)
  return { region: REGIONS.indexOf(nearest(cf)), shard: (high * 256 + low) % shards }
}

/** An index that this version does not know (a token of a newer one) has no hint; the object's name stays the same. */
export function locationHint(home: Home): DurableObjectLocationHint | undefined {
  return REGIONS[home.region]
}

function nearest(cf: Entry | undefined): Region {
  // Without a coordinate every comparison below is false, and the continent's last line is its default.
  const north = Number.parseFloat(cf?.latitude ?? "")
  const east = Number.parseFloat(cf?.longitude ?? "")
  switch (cf?.continent) {
    case "NA":
      return east < -100 ? "wnam" : "enam"
    case "SA":
      return "sam"
    case "EU":
      return east > 15 ? "eeur" : "weur"
    case "AF":
      return "afr"
    case "AS":
      return asia(north, east)
    case "OC":
    case "AN":
      return "oc"
    default:
      return UNKNOWN
  }
}

function asia(north: number, east: number): Region {
  if (east < 60) return "me"
  if (north >= 22 && east >= 100) return "apac-ne"
  if (north < 22 && east >= 92) return "apac-se"
  return "apac"
}
