import { bytesToBase64Url, pae } from "../seal/index.ts"
import type { Ledger } from "./object.ts"

/** What a client needs of a `Ledger` stub: some of its verbs, each answered later. */
export type StubOf<Verb extends keyof Ledger> = {
  readonly [Name in Verb]: Ledger[Name] extends (...parameters: infer Parameters) => infer Answer
    ? (...parameters: Parameters) => Promise<Awaited<Answer>>
    : never
}

/** What a client needs of the binding `DurableObjectNamespace<Ledger>`; tests put stubs behind it that fail. */
export interface Namespace<Stub> {
  getByName(name: string, options?: { readonly locationHint?: DurableObjectLocationHint }): Stub
  jurisdiction(jurisdiction: DurableObjectJurisdiction): Pick<Namespace<Stub>, "getByName">
}

/** The part of a namespace whose objects stay in a jurisdiction; all of it where there is none. */
export function within<Stub>(
  namespace: Namespace<Stub>,
  jurisdiction: DurableObjectJurisdiction | undefined,
): Pick<Namespace<Stub>, "getByName"> {
  return jurisdiction === undefined ? namespace : namespace.jurisdiction(jurisdiction)
}

/** No name tells what it is made of, and no two lists of parts share one. */
export async function objectName(...parts: readonly (string | undefined)[]): Promise<string> {
  return bytesToBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", pae(...parts))))
}
