import { type RequestListener, request } from "node:http"
import { pipeline } from "node:stream"

/**
 * Passes requests on to a port of this machine with an access token, because the suite sends none. Everything else,
 * `Host` and `Origin` above all, stays as it was sent.
 */
export function withToken(port: number, token: string): RequestListener {
  return (incoming, outgoing) => {
    const { method = "GET", url = "/", rawHeaders } = incoming
    const headers = [...rawHeaders, "Authorization", `Bearer ${token}`]
    const onward = request({ host: "127.0.0.1", port, method, path: url, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
      pipeline(answer, outgoing, () => {})
    })
    outgoing.on("close", () => onward.destroy())
    pipeline(incoming, onward, (error) => error && outgoing.destroy())
  }
}
