import { parseArgs } from "node:util"
import { z } from "zod"
import { CommandError, readFlags, readPositionals } from "./command.ts"
import { createRingFile, newEntry, ringText } from "./ring-file.ts"

export const KEYGEN = "waxseal keygen [--suite 1|2] [--out FILE]"

/** Makes a ring of one new key that seals from now on, and prints it or puts it into a new file. */
export function keygen(args: readonly string[]): void {
  const { values, positionals } = readFlags(KEYGEN, () =>
    parseArgs({
      args: [...args],
      options: { suite: { type: "string", default: "1" }, out: { type: "string" } },
      allowPositionals: true,
    }),
  )
  readPositionals(KEYGEN, positionals, z.tuple([]))
  const ring = [newEntry(parseSuite(values.suite), Date.now())]
  if (values.out === undefined) process.stdout.write(ringText(ring))
  else createRingFile(values.out, ring)
}

export function parseSuite(text: string): 1 | 2 {
  if (text === "1") return 1
  if (text === "2") return 2
  throw new CommandError("--suite must be 1 (AES-256-GCM, for Workers) or 2 (XChaCha20-Poly1305, for Node).")
}
