import type { Endpoint } from "./endpoint.ts"

export type Routed =
  | { readonly kind: "endpoint"; readonly endpoint: Endpoint; readonly parameters: Readonly<Record<string, unknown>> }
  | { readonly kind: "other_methods"; readonly methods: readonly string[] }
  | { readonly kind: "unknown" }

interface Route {
  readonly endpoint: Endpoint
  readonly pattern: RegExp
  readonly names: readonly string[]
}

/**
 * Finds endpoints by method and URL, with their parameters as sent: decoded, and nothing else. The outer router is not
 * asked, because it has no route for an empty parameter: an empty key is refused as a key, not as a path.
 */
export function createRoutes(base: string, endpoints: readonly Endpoint[]): (method: string, url: URL) => Routed {
  const routes = endpoints.map(
    (endpoint): Route => ({
      endpoint,
      pattern: patternOf(`${base}${endpoint.path}`),
      names: Object.keys(endpoint.parameters.shape),
    }),
  )
  return (method, url) => {
    const others: string[] = []
    for (const route of routes) {
      const match = route.pattern.exec(url.pathname)
      if (!match) continue
      const { endpoint } = route
      if (endpoint.method === method) return { kind: "endpoint", endpoint, parameters: parametersOf(route, match, url) }
      others.push(endpoint.method)
    }
    return others.length > 0 ? { kind: "other_methods", methods: others } : { kind: "unknown" }
  }
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]*)")}$`)
}

/** A query parameter that is sent twice is a list, which no schema takes; one that is not known is not looked at. */
function parametersOf({ names }: Route, { groups = {} }: RegExpExecArray, url: URL): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    names.flatMap((name): [string, unknown][] => {
      const segment = groups[name]
      if (segment !== undefined) return [[name, decoded(segment)]]
      const values = queryValues(url, name)
      return values.length === 0 ? [] : [[name, values.length === 1 ? values[0] : values]]
    }),
  )
}

/** `URLSearchParams` would read what is no UTF-8 as U+FFFD, and so one principal as another. */
function queryValues({ search }: URL, name: string): (string | undefined)[] {
  return search
    .slice(1)
    .split("&")
    .map((pair) => pair.replaceAll("+", " ").split("="))
    .flatMap(([sentName = "", ...value]) => (decoded(sentName) === name ? [decoded(value.join("="))] : []))
}

/** Nothing, where the percent-encoding is broken. */
function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
