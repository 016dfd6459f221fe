#!/usr/bin/env node
// `waxseal`: makes and edits key rings, looks into tokens, and runs the Worker on the operator's own machine.
// It must not know of HTTP, MCP or the ledger; what a ring or a token is, it asks the door of src/seal.
// A key is printed only where a ring was asked for; states are shown to whoever holds the keys and knows the request.
import { CommandError, runCommand } from "./command.ts"
import { INSPECT, inspect } from "./inspect.ts"
import { KEYGEN, keygen } from "./keygen.ts"
import { LIST, list, RETIRE, REVOKE, ROTATE, retire, revoke, rotate } from "./keys.ts"
import { SERVE, serve } from "./serve/index.ts"

const HELP = `Keys and tokens of Waxseal, and its server.

  ${KEYGEN}
      A new key ring, the value of SEAL_KEYS: printed, or put into a new file that only you can read.

  ${LIST}
      Which key seals, which only open, and until when.
  ${ROTATE}
      Adds a key that seals from an hour ahead (--in 3600); deploy the ring to every instance before that.
      --in 0 is for emergencies: until an instance has the new ring, it refuses what the new key sealed.
  ${RETIRE}
      Removes a key that stopped sealing 30 days ago: no token and no stored result needs it any more.
  ${REVOKE}
      Removes a leaked key at once: nothing that it sealed opens any more. Rotate with --in 0 first.

  ${INSPECT}
      Suite, key and expiry of a requestState need no key. --keys says what the ring knows of its key. What is sealed
      inside opens only for whom and for what it was sealed:
        --tenant      claim:NAME (AUTH_TENANT_CLAIM's value), or issuer:URL where no claim is configured
        --principal   ["ISSUER","SUBJECT","CLIENT"], the last one null where the access token names no client
        --audience    PUBLIC_URL/mcp
        --method      tools/call unless given
        --target      the tool's or prompt's name, or the resource's URI
        --arguments   as JSON; leave it out where the request has none, because {} is not the same
        --purpose     mcp unless given; api for tokens of /v1, whose principal and audience its caller chose

      echo "$STATE" | waxseal inspect --keys ring.json --tenant claim:acme --audience https://mcp.example/mcp \\
        --principal '["https://issuer.example","alice","cli"]' --target create_project --arguments '{"name":"x"}'

  ${SERVE}
      Runs the service on this machine, without an account, for a proxy that takes the requests for PUBLIC_URL. Settings
      are those of the Worker, from the environment; SEAL_KEYS and an issuer are required. Without PUBLIC_URL clients on
      this machine alone may call it. Only DIR is written. The service's log lines go to standard output, and nothing
      else does.
`

type Command = (args: readonly string[]) => Promise<void> | void

const COMMANDS: ReadonlyMap<string, Command> = new Map<string, Command>([
  ["keygen", keygen],
  ["keys list", list],
  ["keys rotate", rotate],
  ["keys retire", retire],
  ["keys revoke", revoke],
  ["inspect", inspect],
  ["serve", serve],
])

await runCommand(async () => {
  const given = process.argv.slice(2)
  if (given.includes("--help") || given.includes("-h")) return console.log(HELP)
  const words = given[0] === "keys" ? 2 : 1
  const command = COMMANDS.get(given.slice(0, words).join(" "))
  if (!command) throw new CommandError(`Choose one of ${[...COMMANDS.keys()].join(", ")}; see: waxseal --help`)
  await command(given.slice(words))
})
