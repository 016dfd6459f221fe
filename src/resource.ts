import type { Incoming, Services } from "./services.ts"

/** Where one request met the Worker. */
export interface Place {
  /** The request's own, parsed: parsing costs as much as a route. */
  readonly url: URL
  /** The origin that this deployment is known by, without a trailing slash. */
  readonly base: string
  readonly services: Services
  readonly context: ExecutionContext
}

/** A protected resource of the Worker: an audience of access tokens, which describes itself (RFC 9728). */
export interface Resource {
  readonly title: string
  /** The audience is this path below the base. */
  readonly path: string
  /** What it serves, in the router's words. */
  readonly route: string
  readonly scopes: readonly string[]
  /** Answers a request whose path is this resource's. */
  readonly serve: (request: Incoming, place: Place) => Promise<Response>
  /** Documents that anyone may read, by path. */
  readonly documents?: Readonly<Record<string, (base: string) => Response>>
}
