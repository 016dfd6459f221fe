// Begins an operation, says so, and works until it is killed: `owner.ts <url> <key> <onLeaseEnd>`, token in TOKEN.
import { z } from "zod"
import { createClient } from "../../../src/client/index.ts"

const [url, key, onLeaseEnd] = z
  .tuple([z.string(), z.string(), z.enum(["report", "rerun"])])
  .parse(process.argv.slice(2))
const client = createClient({ url, token: process.env["TOKEN"] ?? "" })
await client.operations.run(key, { fingerprint: "three of A-113", leaseSeconds: 2, onLeaseEnd }, () => {
  console.log("working")
  return new Promise(() => undefined)
})
