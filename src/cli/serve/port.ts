import { createServer } from "node:net"
import { CommandError, codeOf } from "../command.ts"
import { patiently } from "./patience.ts"

export function parsePort(text: string): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port >= 1 && port <= 65_535) return port
  throw new CommandError("The port must be a whole number from 1 to 65535.")
}

/** Why nothing can listen there, as the system's short name: `EADDRINUSE` where somebody else does, and goes on to. */
export async function portTrouble(host: string, port: number): Promise<string | undefined> {
  try {
    await patiently(
      () => listenOnce(host, port),
      (error) => codeOf(error) === "EADDRINUSE",
    )
    return undefined
  } catch (error) {
    return codeOf(error)
  }
}

/** That trouble in one sentence, which names the flag that is wrong. */
export function portProblem(trouble: string, host: string, port: number): string {
  switch (trouble) {
    case "EADDRINUSE":
      return `Port ${port} of ${host} is taken; choose another: --port 9000.`
    case "EACCES":
      return `Port ${port} is for privileged users; choose one from 1024 on: --port 8787.`
    case "EADDRNOTAVAIL":
    case "EAFNOSUPPORT":
    case "EINVAL":
      return `${host} is no address of this machine (${trouble}); choose one that is: --host 127.0.0.1, or 0.0.0.0 for all.`
    default:
      return `Port ${port} of ${host} cannot be used (${trouble}); choose another: --port or --host.`
  }
}

function listenOnce(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject)
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve()))
  })
}
