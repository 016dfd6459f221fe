import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { exportJWK, generateKeyPair, type JSONWebKeySet, type JWTVerifyGetKey } from "jose"
import { afterEach, beforeEach, expect, it, vi } from "vitest"
import { keySource } from "../../src/auth/keys.ts"

const TEN_MINUTES = 600_001

let server: Server
let served: JSONWebKeySet | undefined
let find: JWTVerifyGetKey

beforeEach(async () => {
  server = createServer((_request, response) => {
    response.writeHead(served ? 200 : 500, { "content-type": "application/json" }).end(JSON.stringify(served))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  find = keySource({ kind: "remote", url: new URL(`http://127.0.0.1:${port}/jwks`) })
})

afterEach(() => {
  vi.restoreAllMocks()
  server.close()
})

async function keySet(kid: string): Promise<JSONWebKeySet> {
  const { publicKey } = await generateKeyPair("ES256")
  return { keys: [{ ...(await exportJWK(publicKey)), kid, alg: "ES256" }] }
}

function later(milliseconds: number): void {
  const now = Date.now()
  vi.spyOn(Date, "now").mockReturnValue(now + milliseconds)
}

const lookUp = (kid: string) => find({ alg: "ES256", kid }, { payload: "", signature: "" })

it("a key that the provider withdrew is forgotten after ten minutes", async () => {
  served = await keySet("old")
  await expect(lookUp("old")).resolves.toBeDefined()
  served = await keySet("new")
  await expect(lookUp("old")).resolves.toBeDefined()
  later(TEN_MINUTES)
  await expect(lookUp("old")).rejects.toMatchObject({ code: "ERR_JWKS_NO_MATCHING_KEY" })
  await expect(lookUp("new")).resolves.toBeDefined()
})

it.each([
  ["is down", undefined],
  ["has lost its keys", { keys: [] }],
])("the last good keys serve while the provider %s", async (_what, answer) => {
  served = await keySet("good")
  await lookUp("good")
  served = answer
  later(TEN_MINUTES)
  await expect(lookUp("good")).resolves.toBeDefined()
  await expect(lookUp("unknown")).rejects.toMatchObject({ code: "ERR_JWKS_NO_MATCHING_KEY" })
})
