import type { Home } from "../../seal/index.ts"
import type { Entrance } from "../exchange.ts"
import type { Opening } from "./opening.ts"

/** A session as its id says it is, once the id has been opened for whom it was sealed. */
export interface Session {
  /** The sealed id itself, as the client sends it. */
  readonly id: string
  /** The name of its object, and in its principal's list. */
  readonly name: string
  /** The name of its principal's list. */
  readonly list: string
  readonly opening: Opening
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** One message to a session, with all that the Worker has proven of it. */
export interface SessionRequest extends Omit<Entrance, "parts"> {
  readonly session: Session
  /** Those that the SDK's transport goes by. No other header enters a session, the access token least of all. */
  readonly headers: Readonly<Record<string, string>>
  /** The parsed body: one JSON-RPC message, read and bounded by the Worker. */
  readonly body: unknown
  /** Where the record of an operation that this message begins shall live. */
  readonly home: Home
}

/** What the Worker needs of a session's object. */
export interface SessionStub {
  /** The answer to one message; `undefined` where the session has ended. */
  serve(request: SessionRequest): Promise<Response | undefined>
  /** Ends the session, as far as this object still knows of it. */
  end(): Promise<void>
}

/** What came of a change of what a session subscribes to. */
export type Subscribed = "done" | "full" | "ended"

/** What the Worker and a session's object need of its principal's list. */
export interface SessionListStub {
  /** Adds a session, and gives the names of those that have to end for it. */
  add(name: string, expiresAt: number): Promise<string[]>
  /** Takes a session off, and says whether it was on. */
  remove(name: string): Promise<boolean>
  has(name: string): Promise<boolean>
  /** What a session subscribed to; `undefined` where it has ended. */
  resources(name: string): Promise<readonly string[] | undefined>
  subscribe(name: string, uri: string): Promise<Subscribed>
  unsubscribe(name: string, uri: string): Promise<Subscribed>
}
