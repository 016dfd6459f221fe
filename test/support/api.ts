import { z } from "zod"

export interface ApiAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: Readonly<Record<string, unknown>>
}

export interface ApiCall {
  readonly token?: string
  /** Default: POST where there is a body, else GET. */
  readonly method?: string
  /** Sent as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

const Body = z.record(z.string(), z.unknown())

/** One call of the sealing API. @param url of the endpoint */
export async function callApi(url: string, { token, method, body, headers }: ApiCall): Promise<ApiAnswer> {
  const response = await fetch(url, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === "" ? {} : Body.parse(JSON.parse(text)) }
}
