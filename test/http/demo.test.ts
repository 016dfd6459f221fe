import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { STEPS, Unexpected } from "../../scripts/demo/steps.ts"
import { ROOT } from "../support/bundle.ts"
import { makeIdentity } from "../support/identity.ts"
import { type Bug, bundleWith } from "../support/planted.ts"
import { startWorker } from "../support/workerd.ts"

it("the demonstration runs as it is told, and all is as it must be", async () => {
  const demo = spawn(process.execPath, [join(ROOT, "scripts/demo.ts")], { stdio: ["ignore", "pipe", "inherit"] })
  let transcript = ""
  demo.stdout.setEncoding("utf8").on("data", (text) => {
    transcript += text
  })
  const [code] = await once(demo, "close")
  expect(transcript).not.toContain("WRONG")
  expect(transcript.match(/^ok {4}/gm)).toHaveLength(STEPS.length + 1)
  expect(code).toBe(0)
}, 120_000)

const bugs: [what: string, bug: Bug, noticedBy: string][] = [
  [
    "principal-unbound",
    {
      file: "src/seal/binding.ts",
      find: "audience, principal, method, target, argumentsDigest])",
      replace: "audience, method, target, argumentsDigest])",
    },
    "Bob sends Alice's state",
  ],
  [
    "arguments-unbound",
    { file: "src/seal/binding.ts", find: "method, target, argumentsDigest])", replace: "method, target])" },
    "Alice changes the arguments after she was asked",
  ],
  [
    "claim-skipped",
    {
      file: "src/operation/spending.ts",
      find: 'return answer.status === "claimed" ? this.#run(commitment, answer, signal) : this.#standing(answer)',
      replace: `const owner: Claimed = { status: "claimed", claim: new Uint8Array(20) as Claim, leaseEndsAt: 0, again: false }
    return this.#run(commitment, answer.status === "claimed" ? answer : owner, signal)`,
    },
    "It sends another answer for what is spent",
  ],
  [
    "answers-without-state-count",
    {
      file: "src/operation/operation-dialogue.ts",
      find: "super(rules, asked, leg, end, false)",
      replace: "super(rules, asked, leg, end, true)",
    },
    "Answers come without state",
  ],
]

it.each(bugs)("the demonstration notices a planted bug: %s", async (what, bug, noticedBy) => {
  const identity = await makeIdentity()
  const storage = await mkdtemp(join(tmpdir(), "waxseal-"))
  const worker = await startWorker({ bundle: await bundleWith(what, bug), bindings: identity.bindings, storage })
  const url = `${worker.url}/mcp`
  const step = STEPS.find(({ title }) => title === noticedBy)
  const target = {
    url,
    token: (who: { principal: string; tenant: string }) => identity.token({ ...who, audience: url }),
  }
  await expect(step?.run(target)).rejects.toThrow(Unexpected)
  await worker.stop()
  await rm(storage, { recursive: true, force: true })
})
