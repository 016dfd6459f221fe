import { ASKED, CONTESTANTS, type Contestant, REFERENCE_STATE } from "./contestants.ts"
import { Job, type Runner } from "./job.ts"

type Step = () => Promise<unknown>

const made = new Map<Runner, { seal: Step; open: Step }>()

/** Does a job, and answers once it is done. */
export default {
  async fetch(request: Request): Promise<Response> {
    const { runner, verb, times } = Job.parse(await request.json())
    const step = (await stepsOf(runner))[verb]
    for (let left = times; left > 0; left--) await step()
    return new Response("done")
  },
}

async function stepsOf(runner: Runner): Promise<{ seal: Step; open: Step }> {
  const steps = made.get(runner) ?? (await make(runner))
  made.set(runner, steps)
  return steps
}

async function make(runner: Runner): Promise<{ seal: Step; open: Step }> {
  if (runner === "nothing") return { seal: async () => {}, open: async () => {} }
  if (runner === "bare subtle.encrypt") return bareEncrypt()
  const contestant: Contestant = CONTESTANTS[runner]()
  let token: string | undefined
  return {
    seal: () => contestant.seal(ASKED, REFERENCE_STATE),
    async open() {
      token ??= await contestant.seal(ASKED, REFERENCE_STATE)
      return contestant.open(ASKED, token)
    },
  }
}

/** As many bytes as a token of the reference state encrypts and authenticates, all else left out. */
async function bareEncrypt(): Promise<{ seal: Step; open: Step }> {
  const key = await crypto.subtle.importKey("raw", new Uint8Array(32), "AES-GCM", false, ["encrypt", "decrypt"])
  const algorithm = { name: "AES-GCM", iv: new Uint8Array(12), additionalData: new Uint8Array(256) }
  const body = new Uint8Array(93)
  const sealed = await crypto.subtle.encrypt(algorithm, key, body)
  return {
    seal: () => crypto.subtle.encrypt(algorithm, key, body),
    open: () => crypto.subtle.decrypt(algorithm, key, sealed),
  }
}
