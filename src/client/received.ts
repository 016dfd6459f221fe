import { WaxsealError } from "./errors.ts"

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

/** The answer's text, told of piece by piece. Whatever answers, it fills no memory. */
export async function readAnswer({ body, status }: Response, heard: () => void): Promise<string> {
  heard()
  if (body === null) return ""
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let length = 0
  let text = ""
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    heard()
    length += value.byteLength
    if (length > LONGEST_ANSWER_BYTES) {
      reader.cancel().catch(() => undefined)
      throw new WaxsealError("unexpected_answer", "The answer is larger than the API's ever are; see what url is.", {
        status,
      })
    }
    text += decoder.decode(value, { stream: true })
  }
}
