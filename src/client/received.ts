import { WaxsealError } from "./errors.ts"
import { unlessAborted } from "./pause.ts"

/** The API's longest answers, a stored result and a full batch, are well below it. */
const LONGEST_ANSWER_BYTES = 4_194_304

/** Fires when nothing has been heard for so many milliseconds. */
export function createSilence(milliseconds: number) {
  const controller = new AbortController()
  const fire = () => controller.abort()
  let timer = setTimeout(fire, milliseconds)
  return {
    signal: controller.signal,
    heard() {
      clearTimeout(timer)
      timer = setTimeout(fire, milliseconds)
    },
    end: () => clearTimeout(timer),
  }
}

/** The answer's text, told of piece by piece, until the signal fires. Whatever answers, it fills no memory. */
export async function readAnswer({ body, status }: Response, heard: () => void, signal: AbortSignal): Promise<string> {
  heard()
  if (body === null) return ""
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let length = 0
  let text = ""
  try {
    for (;;) {
      const { done, value } = await unlessAborted(reader.read(), signal)
      if (done) return text + decoder.decode()
      heard()
      length += value.byteLength
      if (length > LONGEST_ANSWER_BYTES) throw tooLong(status)
      text += decoder.decode(value, { stream: true })
    }
  } catch (error) {
    reader.cancel().catch(() => undefined)
    throw error
  }
}

function tooLong(status: number): WaxsealError {
  const message = "The answer is larger than the API's ever are; see what url is."
  return new WaxsealError("unexpected_answer", message, { status })
}
