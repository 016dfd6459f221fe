import { expect } from "vitest"
import { type Client, type ClientOptions, createClient, WaxsealError } from "../../../src/client/index.ts"
import { type Api, type ApiOptions, startApi } from "../../support/api.ts"
import { type FlakyProxy, startFlakyProxy } from "../../support/flaky-proxy.ts"

/** The built Worker, a client of it, and one that comes through a proxy that loses things. */
export interface Stage {
  readonly api: Api
  readonly proxy: FlakyProxy
  readonly client: Client
  readonly flaky: Client
  clientWith(options: Partial<ClientOptions>): Client
  /** Another such proxy, for one test of several that run at a time. */
  network(): Promise<Pick<Stage, "proxy" | "flaky">>
  stop(): Promise<void>
}

/** So short that an answer which never comes is soon asked for again. */
const FLAKY_TIMEOUT_MS = 1_500

export async function setStage(options?: ApiOptions): Promise<Stage> {
  const api = await startApi(options)
  const proxies: FlakyProxy[] = []
  const clientWith = (changes: Partial<ClientOptions>) =>
    createClient({ url: api.worker.url, token: () => api.token(), ...changes })
  async function network() {
    const proxy = await startFlakyProxy(api.worker.url)
    proxies.push(proxy)
    return { proxy, flaky: clientWith({ url: proxy.url, timeoutMs: FLAKY_TIMEOUT_MS }) }
  }
  return {
    api,
    ...(await network()),
    client: clientWith({}),
    clientWith,
    network,
    async stop() {
      await Promise.all(proxies.map((proxy) => proxy.stop()))
      await api.stop()
    },
  }
}

export const BOUND = {
  principal: "alice",
  request: { method: "tools/call", target: "create_project", arguments: { name: "orders" } },
}

/** The call must reject with `WaxsealError` of this code, and with these members. */
export async function expectCode(call: Promise<unknown>, code: string, members: object = {}): Promise<WaxsealError> {
  const error = await call.then(
    (value) => new Error(`It resolved: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(WaxsealError)
  expect(error).toMatchObject({ code, ...members })
  if (!(error instanceof WaxsealError)) throw error
  return error
}
