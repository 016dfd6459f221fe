import type { Endpoint } from "./endpoint.ts"

export type Routed =
  | { readonly kind: "endpoint"; readonly endpoint: Endpoint; readonly parameters: Readonly<Record<string, unknown>> }
  | { readonly kind: "other_methods"; readonly methods: readonly string[] }
  | { readonly kind: "unknown" }

interface Route {
  readonly endpoint: Endpoint
  readonly pattern: RegExp
}

/**
 * Finds endpoints by method and URL, with their parameters as sent: decoded, and nothing else. The outer router is not
 * asked, because it has no route for an empty parameter: an empty key is refused as a key, not as a path.
 */
export function createRoutes(base: string, endpoints: readonly Endpoint[]): (method: string, url: URL) => Routed {
  const routes = endpoints.map((endpoint): Route => ({ endpoint, pattern: patternOf(`${base}${endpoint.path}`) }))
  return (method, url) => {
    const here = routes.filter(({ pattern }) => pattern.test(url.pathname))
    const found = here.find(({ endpoint }) => endpoint.method === method)
    if (found) return { kind: "endpoint", endpoint: found.endpoint, parameters: parametersOf(found, url) }
    if (here.length === 0) return { kind: "unknown" }
    return { kind: "other_methods", methods: here.map(({ endpoint }) => endpoint.method) }
  }
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]*)")}$`)
}

/** A query parameter that is sent twice is a list, which no schema takes; one that is not known is not looked at. */
function parametersOf({ endpoint, pattern }: Route, url: URL): Readonly<Record<string, unknown>> {
  const inPath = pattern.exec(url.pathname)?.groups ?? {}
  const names = Object.keys(endpoint.parameters.shape)
  return Object.fromEntries(
    names.flatMap((name): [string, unknown][] => {
      const segment = inPath[name]
      if (segment !== undefined) return [[name, decoded(segment)]]
      const values = url.searchParams.getAll(name)
      return values.length === 0 ? [] : [[name, values.length === 1 ? values[0] : values]]
    }),
  )
}

/** Nothing, where the percent-encoding is broken. */
function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
