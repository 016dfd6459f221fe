import type { Identity } from "../../auth/index.ts"
import type { TenantId } from "../../brands.ts"
import { errorName } from "../../error-name.ts"
import { type Namespace, objectName, within } from "../../ledger/index.ts"
import type { Home, Opened, Pseudonyms, Reason, Sealer } from "../../seal/index.ts"
import type { ChangesClient } from "../changes/index.ts"
import type { Session, SessionListStub, SessionRequest, SessionStub, Subscribed } from "./message.ts"
import { Opening, readOpening } from "./opening.ts"

/** A session's whole life, in milliseconds; then its client begins another. */
const LIFE_MS = 12 * 3_600_000

/** Sessions keep no record in the ledger. */
const NOWHERE: Home = { region: 0, shard: 0 }

/** Whose a session is. The id is sealed for exactly these. */
export interface Owner extends Pick<Identity, "tenant" | "principal"> {
  readonly audience: string
}

/** What happened to sessions, for the operator. `person` is a keyed hash. */
export type SessionEvent =
  | { readonly event: "session"; readonly change: "begun" | "ended" | "displaced"; readonly person: string }
  | { readonly event: "session_refused"; readonly reason: Reason | "ended"; readonly person: string }
  | { readonly event: "fault"; readonly name: "session"; readonly error: string }

/** A session that the caller may use, as far as its id tells; whether it was ended, its object or list knows. */
export interface OpenSession extends Session {
  /** What it subscribed to; `undefined` where it has ended. */
  resources(): Promise<readonly string[] | undefined>
  subscribe(uri: string): Promise<Subscribed>
  unsubscribe(uri: string): Promise<Subscribed>
  /** Passes a message on and gives its answer; `undefined` where the session has ended. */
  serve(request: Omit<SessionRequest, "session">): Promise<Response | undefined>
  /** Ends it for good, and says whether it was still living. */
  end(): Promise<boolean>
}

/** A session's object or its list could not be reached. What the call meant to do may have happened. */
export class SessionUnreachable extends Error {
  override readonly name = "SessionUnreachable"
}

/** Begins and opens sessions. All calls but `open` throw {@link SessionUnreachable} where they touch an object. */
export interface Sessions {
  /** The id of a new session for the client that sent this `initialize`; none where the body is no such thing. */
  begin(owner: Owner, body: unknown): Promise<string | undefined>
  /** Opens an id. No object is touched; `undefined` for every id that was not sealed for this very owner, or is too old. */
  open(owner: Owner, id: string): Promise<OpenSession | undefined>
}

export interface SessionsOptions {
  /** Of the purpose `session`. */
  readonly sealer: Sealer
  readonly objects: Namespace<SessionStub>
  readonly lists: Namespace<SessionListStub>
  /** Where their streams listen; absent: they have none. */
  readonly changes: ChangesClient | undefined
  readonly jurisdictions: ReadonlyMap<TenantId, DurableObjectJurisdiction>
  readonly now: () => number
  readonly pseudonyms: Pseudonyms
  readonly observe: (event: SessionEvent) => void
}

/** Makes the Worker's side of sessions. */
export function createSessions(options: SessionsOptions): Sessions {
  const { sealer, objects, lists, changes, jurisdictions, now, pseudonyms, observe } = options

  function at<Stub>(namespace: Namespace<Stub>, { tenant }: Owner, name: string): Stub {
    return within(namespace, jurisdictions.get(tenant)).getByName(name)
  }

  function personOf({ tenant, principal }: Owner): string {
    return pseudonyms("person", tenant, principal)
  }

  function refuse(owner: Owner, reason: Reason | "ended"): undefined {
    observe({ event: "session_refused", reason, person: personOf(owner) })
  }

  function change(owner: Owner, change: Extract<SessionEvent, { event: "session" }>["change"]): void {
    observe({ event: "session", change, person: personOf(owner) })
  }

  async function reach<T>(call: Promise<T>): Promise<T> {
    try {
      return await call
    } catch (error) {
      observe({ event: "fault", name: "session", error: errorName(error) })
      throw new SessionUnreachable("The session could not be reached; try again in a moment.", { cause: error })
    }
  }

  async function subscribed(owner: Owner, call: Promise<Subscribed>): Promise<Subscribed> {
    const answer = await reach(call)
    if (answer === "ended") refuse(owner, "ended")
    return answer
  }

  /** Its object and its stream; the list knows already. */
  async function close(owner: Owner, name: string): Promise<void> {
    await Promise.all([reach(at(objects, owner, name).end()), changes?.dismiss(owner.tenant, name)])
  }

  /** Off the list it has ended; an object that cannot be told now finds out by itself. */
  async function displace(owner: Owner, name: string): Promise<void> {
    await close(owner, name).catch(() => undefined)
    change(owner, "displaced")
  }

  return {
    async begin(owner, body) {
      const opening = readOpening(body)
      if (!opening) return undefined
      const issuedAt = now()
      const expiresAt = issuedAt + LIFE_MS
      const times = { issuedAt, expiresAt, deadline: expiresAt }
      const sealed = await sealer.seal(bindingOf(owner), { ...times, round: 1, home: NOWHERE, state: opening })
      const name = await objectName("session", owner.tenant, sealed.operation)
      const displaced = await reach(at(lists, owner, await listName(owner)).add(name, expiresAt))
      await Promise.all(displaced.map((one) => displace(owner, one)))
      change(owner, "begun")
      return sealed.token
    },

    async open(owner, id) {
      const opened = await sealer.open(bindingOf(owner), id)
      const opening = opened.ok ? Opening.safeParse(opened.contents.state).data : undefined
      if (!opened.ok || !opening) return refuse(owner, reasonOf(opened))
      const { operation, expiresAt } = opened.contents
      const [name, list] = await Promise.all([objectName("session", owner.tenant, operation), listName(owner)])
      const session = { id, name, list, opening, expiresAt }
      return {
        ...session,
        async resources() {
          return (await reach(at(lists, owner, list).resources(name))) ?? refuse(owner, "ended")
        },
        subscribe: (uri) => subscribed(owner, at(lists, owner, list).subscribe(name, uri)),
        unsubscribe: (uri) => subscribed(owner, at(lists, owner, list).unsubscribe(name, uri)),
        async serve(request) {
          const answer = await reach(at(objects, owner, name).serve({ ...request, session }))
          return answer ?? refuse(owner, "ended")
        },
        async end() {
          const wasLiving = await reach(at(lists, owner, list).remove(name))
          await close(owner, name)
          if (wasLiving) change(owner, "ended")
          else refuse(owner, "ended")
          return wasLiving
        },
      }
    },
  }
}

/** Every owner's sessions are sealed apart: an id opens for nobody else, and for no other endpoint. */
function bindingOf({ tenant, principal, audience }: Owner) {
  return { tenant, principal, audience, method: "initialize", target: "" }
}

function listName({ tenant, principal, audience }: Owner): Promise<string> {
  return objectName("session list", tenant, principal, audience)
}

/** An authentic id whose contents no version of this code has written is as good as forged. */
function reasonOf(opened: Opened): Reason {
  return opened.ok ? "forged" : opened.reason
}
