import { afterEach, expect, it, vi } from "vitest"
import { carry } from "../../../src/mcp/changes/carry.ts"
import type { Change } from "../../../src/mcp/changes/change.ts"

const HOUR_MS = 3_600_000

afterEach(() => {
  vi.useRealTimers()
})

const updated = (uri: string): Change => ({ kind: "resource_updated", uri })

/** A stream that writes a frame a change, at once, as the SDK's does; both ends of the bus's socket; and the server's end. */
function stage(expiresAt = Number.POSITIVE_INFINITY) {
  const { 0: near, 1: far } = new WebSocketPair()
  far.accept()
  const closed: string[] = []
  far.addEventListener("close", () => void closed.push("socket"))
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  const told: Change[] = []
  const encoder = new TextEncoder()
  const frames = new ReadableStream<Uint8Array>({
    start: (own) => {
      controller = own
      own.enqueue(encoder.encode("hello"))
    },
    cancel: () => void closed.push("frames"),
  })
  const stream = {
    frames,
    tell(change: Change) {
      told.push(change)
      controller?.enqueue(encoder.encode(JSON.stringify(change)))
    },
    end() {
      closed.push("ended")
      controller?.enqueue(encoder.encode("bye"))
      controller?.close()
    },
  }
  const { promise: stop, resolve: stopServer } = Promise.withResolvers<void>()
  const reader = carry({ socket: near, stop }, stream, expiresAt).getReader()
  const decoder = new TextDecoder()
  async function read(): Promise<string | undefined> {
    const { value } = await reader.read()
    return value && decoder.decode(value)
  }
  const send = (change: unknown) => far.send(JSON.stringify(change))
  return { far, reader, read, send, told, closed, stopServer }
}

const arrive = () => scheduler.wait(20)

it("passes changes on as they come while they are read", async () => {
  const { read, send } = stage()
  expect(await read()).toBe("hello")
  for (const uri of ["a", "b", "a"]) {
    send(updated(uri))
    expect(JSON.parse((await read()) ?? "")).toEqual(updated(uri))
  }
})

it("holds for a reader that stopped each change once, in the order in which they came", async () => {
  const { read, send, told } = stage()
  for (let times = 0; times < 1_000; times++) for (const uri of ["a", "b", "c"]) send(updated(uri))
  await arrive()
  expect(told).toEqual([])
  expect(await read()).toBe("hello")
  for (const uri of ["a", "b", "c"]) expect(JSON.parse((await read()) ?? "")).toEqual(updated(uri))
  expect(told).toHaveLength(3)
  send(updated("d"))
  expect(JSON.parse((await read()) ?? "")).toEqual(updated("d"))
})

it("writes for a reader that is slow no more than it reads", async () => {
  const { read, send, told } = stage()
  await read()
  for (let round = 0; round < 50; round++) {
    for (const uri of ["a", "b", "c", "d"]) send(updated(uri))
    await arrive()
    await read()
    expect(told.length).toBeLessThanOrEqual(round + 2)
  }
})

it("ends with the access token", async () => {
  const { read, closed } = stage(Date.now() + 100)
  expect(await read()).toBe("hello")
  expect(await read()).toBe("bye")
  expect(await read()).toBeUndefined()
  await vi.waitFor(() => expect(closed).toEqual(["ended", "socket"]))
})

it("ends with a token that is over by now", async () => {
  const { read } = stage(Date.now() - 4_000)
  expect([await read(), await read(), await read()]).toEqual(["hello", "bye", undefined])
})

it("ends after an hour, however long the token lasts", async () => {
  vi.useFakeTimers()
  const { closed } = stage()
  await vi.advanceTimersByTimeAsync(HOUR_MS - 1)
  expect(closed).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect(closed).toContain("ended")
})

it("says nothing after its end, to a reader that comes late too", async () => {
  const { read, send } = stage(Date.now() + 50)
  send(updated("a"))
  await scheduler.wait(100)
  expect([await read(), await read(), await read()]).toEqual(["hello", "bye", undefined])
})

it("ends in good order when the bus goes", async () => {
  const { far, read } = stage()
  far.close(1011)
  expect([await read(), await read(), await read()]).toEqual(["hello", "bye", undefined])
})

it("ends in good order when the server is about to stop", async () => {
  const { read, closed, stopServer } = stage()
  expect(await read()).toBe("hello")
  stopServer()
  expect([await read(), await read()]).toEqual(["bye", undefined])
  await vi.waitFor(() => expect(closed).toEqual(["ended", "socket"]))
})

it("leaves the bus when the reader goes", async () => {
  const { reader, closed } = stage()
  await reader.cancel()
  await vi.waitFor(() => expect(closed).toEqual(["frames", "socket"]))
})

it("passes over what it does not know", async () => {
  const { read, send } = stage()
  await read()
  send({ kind: "moon_changed" })
  send(updated("a"))
  expect(JSON.parse((await read()) ?? "")).toEqual(updated("a"))
})
